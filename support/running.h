/* SPDX-License-Identifier: MIT */
/*
 * running: can a process still write to a log, and if not, how did it end?
 *
 * Model:   /proc is asked. A log names those who write it by their pids, which other processes have
 *          later: whoever started after the log began never wrote to it.
 * Threads: any.
 * Failure: who cannot be asked about is not running.
 */
#ifndef MTRACE_SUPPORT_RUNNING_H
#define MTRACE_SUPPORT_RUNNING_H

#include "common/log_format.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A process that is no more than its exit status counts as gone, unless threads of it go on. */
bool running_is(pid_t pid);

/* The same of a pid that the header of a log names (its program's or its recorder's; 0: nobody):
 * not that of a later process with this pid. */
bool running_writes(pid_t pid, const struct log_file *header);

/* Has the process mapped the file? *ret_is_known (or NULL): it can be seen what it has mapped. */
bool running_maps(pid_t pid, const struct stat *file, bool *ret_is_known);

/* Whether it has waited for children that did anything: what the kernel counted for it is theirs
 * too. True when it is not known. */
bool running_has_waited(pid_t pid);

/* How a process ended that its parent has not waited for yet, as wait says; false: not known. */
bool running_find_status(pid_t pid, int *ret_wait_status);

#endif
