/* SPDX-License-Identifier: MIT */
/*
 * describe: what a log says of its process: program and arguments, settings, what is not seen.
 *
 * Threads: describe_recording by the one that starts; describe_child by any, outside of recording.
 * Failure: the log says less.
 */
#ifndef MTRACE_COLLECTOR_DESCRIBE_H
#define MTRACE_COLLECTOR_DESCRIBE_H

#include "lib/abi/log_format.h"

#include <stdint.h>

/* Once, when the log is attached. arguments: main's, NULL-terminated. */
void describe_recording(char *const *arguments);

/* LOG_DEF_CHILD: pid will write a log of its own, named after ours; or will not, after all. */
void describe_child(uint32_t pid, enum log_child what);

#endif
