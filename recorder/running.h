/* SPDX-License-Identifier: MIT */
/* running: can a process still write to its log? */
#ifndef MTRACE_RECORDER_RUNNING_H
#define MTRACE_RECORDER_RUNNING_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that is no more than its exit status counts as gone, unless threads of it go on. */
bool running_is(pid_t pid);

#endif
