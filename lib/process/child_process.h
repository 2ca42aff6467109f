/* SPDX-License-Identifier: MIT */
/*
 * child_process: child processes of the recorder, and their end.
 *
 * A struct child_process is a child of the recorder that answers a report request or follows a log.
 * It has its own process group, since ^C is meant for the program. Its signals are as in a new
 * process, whatever this process blocks or inherited as ignored. To end it, its group gets a signal
 * to terminate, and continues if it was stopped. If it does not end, it is killed. If even that
 * does not end it (a frozen cgroup), it is left alone.
 *
 *   HE-1 Waits for at most CHILD_PROCESS_TIME_LIMIT_NS after the request to end, and again after
 *        the kill.
 *
 * A child that is stopped (SIGSTOP, a terminal) is waited for until it continues or is ended.
 *
 * Threads: not thread-safe.
 */
#ifndef MTRACE_LIB_CHILD_PROCESS_H
#define MTRACE_LIB_CHILD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_PROCESS_TIME_LIMIT_NS UINT64_C(3000000000)

/* All zero: there is no child. */
struct child_process {
    pid_t pid;       /* 0: none */
    uint64_t due_ns; /* CLOCK_MONOTONIC of its next signal; 0: not asked to end */
    bool is_killed;
};

/* Like fork: returns 0 in the child, else its PID or -1. */
pid_t child_process_start(struct child_process *child);

/* Returns true if the child has ended by itself; the struct is then empty. *ret_status (or NULL) is
 * the wait status, or -1 if another part of this process has waited for it. */
bool child_process_has_ended(struct child_process *child, int *ret_status);

/* Asks the child to end. Returns true if there is no child any more; call it again until then. */
bool child_process_end(struct child_process *child);

/* Calls child_process_end until it returns true. */
void child_process_end_now(struct child_process *child);

#endif
