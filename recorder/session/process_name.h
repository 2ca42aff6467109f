/* SPDX-License-Identifier: MIT */
/*
 * process_name: finds the process that the user names, as pidof does.
 *
 * A process has the name of its executable, or the one that the kernel shows for its first thread:
 * that of a script, or what the program set. The kernel keeps 15 bytes of it.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_PROCESS_NAME_H
#define MTRACE_RECORDER_PROCESS_NAME_H

#include "lib/base/error.h"

#include <sys/types.h>

/* ERROR_NOT_FOUND if no process has the name. If several have it, lists them on stderr and fails
 * with ERROR_EXISTS. */
int process_name_find(const char *name, pid_t *ret_pid, struct error *err);

#endif
