/* SPDX-License-Identifier: MIT */
/*
 * child_time_limit: waits for the work of a child of ours, but not for ever because somebody stopped it.
 *
 * Model:   however slowly it works, a child is left alone: nothing is asked but whether it is stopped (SIGSTOP, a terminal). Who was for
 *          CHILD_TIME_LIMIT_NS without a break is killed, and who waits sees the end of it. A time in which we did not look counts little: whoever stopped us
 *          both, and lets us go on first, is given the time to let it go on, too.
 * Invariants
 *   CP-1 Nobody waits for a child that stays stopped for longer than CHILD_TIME_LIMIT_NS and a look.
 *   CP-2 Who is not stopped is never killed.
 * Threads: any; each child is waited for by one.
 */
#ifndef MTRACE_LIB_CHILD_TIME_LIMIT_H
#define MTRACE_LIB_CHILD_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_TIME_LIMIT_NS UINT64_C(3000000000)

/* What is known of one child from looks. All zero: none was made. */
struct child_time_limit {
    uint64_t looked_ns;  /* CLOCK_MONOTONIC */
    uint64_t stopped_ns; /* for how long it was seen stopped, since it was last seen otherwise */
};

/* For who looks now and then, and kills it himself: has it been stopped for too long? */
bool child_time_limit_is_over(struct child_time_limit *time_limit, pid_t pid);

/* Until fd can be read, as it can be when the other end is gone, which the child has. False: a signal came that we have a handler for. */
bool child_time_limit_await(pid_t pid, int fd);

/* Until it has ended, whatever signals come. False: it is not ours to wait for. */
bool child_time_limit_wait(pid_t pid, int *ret_status);

#endif
