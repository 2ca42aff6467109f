/* SPDX-License-Identifier: MIT */
/*
 * urgency: who has a processor first while a thread of a program stands still for us.
 *
 * Model:   on a busy machine a thread that is stopped and goes on waits for a processor each time, and so do we, for whom it waits; a nice value counts
 *          only among those of one session or control group. So the calling thread is scheduled in real time (SCHED_FIFO), where it may be,
 *          and, one priority below it, the thread that it holds: which waits for what others hold while they have no processor is made what it was
 *          after URGENCY_MOST_NS.
 * Invariants
 *   UR-1 Only a thread that can give back what it had itself is lifted: what that was (urgency_find) is written where it finds it before.
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

/* What a thread has again afterwards. */
struct urgency_before {
    int policy; /* as sched_setscheduler has it, to be given back with the priority 0 */
    uint64_t
        timer_slack_ns; /* which a newer kernel takes from who comes into real time, and sets anew when he leaves it */
};

/* Before any thread of it is stopped. One that has a limit of time in real time is not lifted: it may be killed for it. */
void urgency_look(struct urgency *urgency, pid_t pid);

/* Of a thread that will stop others, and ends with that: what it has beside real time, among those of one session or control group. */
void urgency_prepare(void);

/* Once taken it stays so until it is given back. */
void urgency_take(struct urgency *urgency);
void urgency_give(struct urgency *urgency);

/* False: the thread shall not be lifted, as that could not be undone, or as it has another kind of urgency already. */
bool urgency_find(const struct urgency *urgency, pid_t tid, struct urgency_before *ret_before);

bool urgency_lift(pid_t tid, const struct urgency_before *before);

/* Unless somebody has scheduled it in another way meanwhile. */
void urgency_lower(pid_t tid, const struct urgency_before *before);

#endif
