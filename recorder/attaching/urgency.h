/* SPDX-License-Identifier: MIT */
/*
 * urgency: who has a processor first while a thread of a program stands still for us.
 *
 * Model:   on a busy machine a thread that is stopped and goes on waits for a processor each time, and so do we, for whom it waits; a nice value counts
 *          only among those of one session or control group. So the calling thread is scheduled in real time (SCHED_FIFO), where it may be,
 *          and, one priority below it, the thread that it holds: which waits for what others hold while they have no processor is made what it was
 *          after URGENCY_MOST_NS.
 * Invariants
 *   UR-1 Only a thread that can give its own policy back is lifted: what it was (urgency_find) is written where it finds it before.
 *   UR-2 A thread is lifted only by one that is above it: it cannot keep us from the processor on which we would end that.
 * Threads: the one that traces. Failure: false; all waits as ever.
 */
#ifndef MTRACE_RECORDER_URGENCY_H
#define MTRACE_RECORDER_URGENCY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* For how long a thread is lifted at most, unless we are killed meanwhile. */
#define URGENCY_MOST_NS 20000000u

/* Of the calling thread, all zero at first. */
struct urgency {
    uint64_t slice_ns; /* that it had */
    int policy;        /* as below */
    bool is_taken;
    bool may_lift; /* threads of the process */
};

/* Before any thread of it is stopped. One that has a limit of time in real time is not lifted: it may be killed for it. */
void urgency_look(struct urgency *urgency, pid_t pid);

/* Once taken it stays so until it is given back. */
void urgency_take(struct urgency *urgency);
void urgency_give(struct urgency *urgency);

/* A thread's policy as sched_setscheduler has it, to be given back with the priority 0. False: it shall not be lifted, as that could not be undone, or as it
 * has another kind of urgency already. */
bool urgency_find(const struct urgency *urgency, pid_t tid, int *ret_policy);

bool urgency_lift(pid_t tid, int policy);

/* Unless somebody has scheduled it in another way meanwhile. */
void urgency_lower(pid_t tid, int policy);

#endif
