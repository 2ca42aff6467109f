/* SPDX-License-Identifier: MIT */
/*
 * child_process: child processes, their end, and waits for their work that do not last for ever.
 *
 * A struct child_process is a child of the recorder that answers a report request or follows a log.
 * It has its own process group, since ^C is meant for the program. Its signals are as in a new
 * process, whatever this process blocks or inherited as ignored. To end it, its group gets a signal
 * to terminate, and continues if it was stopped. If it does not end, it is killed. If even that
 * does not end it (a frozen cgroup), it is left alone.
 *
 * A child_time_limit is for any child. A slow child is left alone. A child that was stopped
 * (SIGSTOP, a terminal) for CHILD_TIME_LIMIT_NS without a break is killed, and the waiting function
 * sees its end. Time in which this process did not look counts little: if something stopped both
 * processes and continues this one first, the child gets time to continue, too.
 *
 *   CP-1 No wait for a stopped child takes longer than CHILD_TIME_LIMIT_NS and one look.
 *   CP-2 A child that is not stopped is never killed.
 *   HE-1 Waits for at most CHILD_PROCESS_TIME_LIMIT_NS after the request to end, and again after
 *        the kill.
 *   HE-2 A wait for its work ends, too, although the child is stopped. The child checks its own
 *        children in the same way (CP-1).
 *
 * child_time_limit_*: any thread; one thread waits for each child. child_process_*: not
 * thread-safe.
 */
#ifndef MTRACE_LIB_CHILD_PROCESS_H
#define MTRACE_LIB_CHILD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- any child ---- */

#define CHILD_TIME_LIMIT_NS UINT64_C(3000000000)

/* What looks have shown about one child. All zero: no look yet. */
struct child_time_limit {
    uint64_t looked_ns;  /* CLOCK_MONOTONIC */
    uint64_t stopped_ns; /* how long it has been seen stopped without a break */
};

/* For callers that look now and then and kill the child themselves: has it been stopped for too
 * long? */
bool child_time_limit_is_over(struct child_time_limit *time_limit, pid_t pid);

/* Waits until fd is readable. It also becomes readable when its other end, which the child has, is
 * closed. False: a handler ran for a signal. */
bool child_time_limit_await(pid_t pid, int fd);

/* Waits until the child has ended, whatever signals arrive. False: it is not our child. */
bool child_time_limit_wait(pid_t pid, int *ret_status);

/* ---- children of the recorder ---- */

#define CHILD_PROCESS_TIME_LIMIT_NS UINT64_C(3000000000)

/* All zero: there is no child. */
struct child_process {
    pid_t pid;       /* 0: none */
    uint64_t due_ns; /* CLOCK_MONOTONIC of its next signal; 0: not asked to end */
    bool is_killed;
    struct child_time_limit time_limit; /* of child_process_watch */
};

/* Like fork: returns 0 in the child, else its PID or -1. */
pid_t child_process_start(struct child_process *child);

/* Returns true if the child has ended by itself; the struct is then empty. *ret_status (or NULL) is
 * the wait status, or -1 if another part of this process has waited for it. */
bool child_process_has_ended(struct child_process *child, int *ret_status);

/* Call while waiting for its work: kills the child and its group if it has been stopped for too
 * long (HE-2). */
void child_process_watch(struct child_process *child);

/* Asks the child to end. Returns true if there is no child any more; call it again until then. */
bool child_process_end(struct child_process *child);

/* Calls child_process_end until it returns true. */
void child_process_end_now(struct child_process *child);

#endif
