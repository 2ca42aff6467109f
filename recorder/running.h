/* SPDX-License-Identifier: MIT */
/* running: can a process still write to its log, and if not, how did it end? */
#ifndef MTRACE_RECORDER_RUNNING_H
#define MTRACE_RECORDER_RUNNING_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that is no more than its exit status counts as gone, unless threads of it go on. */
bool running_is(pid_t pid);

/* How a process ended that its parent has not waited for yet, as wait says; false: not known. */
bool running_find_status(pid_t pid, int *ret_wait_status);

#endif
