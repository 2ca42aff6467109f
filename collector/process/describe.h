/* SPDX-License-Identifier: MIT */
/*
 * describe: what a log says of its process: program, arguments, settings, and what is not recorded.
 *
 * Threads: describe_recording runs in the thread that starts the recording, describe_child in any,
 * outside of recording. On failure the log lacks the information.
 */
#ifndef MTRACE_COLLECTOR_DESCRIBE_H
#define MTRACE_COLLECTOR_DESCRIBE_H

#include "lib/abi/log_format.h"

#include <stdint.h>

/* Once, when the log is attached. arguments: main's, NULL-terminated. */
void describe_recording(char *const *arguments);

/* Writes a LOG_DEF_CHILD: process pid will write a log named after this one, or will not after
 * all. */
void describe_child(uint32_t pid, enum log_child what);

#endif
