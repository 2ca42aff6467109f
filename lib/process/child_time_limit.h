/* SPDX-License-Identifier: MIT */
/*
 * child_time_limit: waits for the work of a child process, but not for ever if the child is
 * stopped.
 *
 * A slow child is left alone. A child that was stopped (SIGSTOP, a terminal) for
 * CHILD_TIME_LIMIT_NS without a break is killed, and the waiting function sees its end. Time in
 * which this process did not look counts little: if something stopped both processes and continues
 * this one first, the child gets time to continue, too.
 *
 *   CP-1 No wait for a stopped child takes longer than CHILD_TIME_LIMIT_NS and one look.
 *   CP-2 A child that is not stopped is never killed.
 *
 * Any thread; one thread waits for each child.
 */
#ifndef MTRACE_LIB_CHILD_TIME_LIMIT_H
#define MTRACE_LIB_CHILD_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
