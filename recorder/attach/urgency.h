/* SPDX-License-Identifier: MIT */
/*
 * urgency: scheduling priority while a thread of the program is stopped.
 *
 * On a busy machine a stopped thread waits for a processor when it continues, and so does the
 * recorder that it waits for. A nice value counts only within one session or control group. So the
 * calling thread uses SCHED_FIFO where permitted, and the stopped thread gets one priority below
 * it. A thread that waits for others without a processor gets its own policy back after
 * URGENCY_MOST_NS.
 *
 * Invariants
 *   UR-1 A thread is raised only if it can restore its own policy, which is stored where the thread
 *        finds it (urgency_find) before.
 *   UR-2 A thread is raised only by a thread above it, which it cannot keep from the processor
 *        needed to end that.
 *
 * Threads: the tracing thread. Errors: false; scheduling stays as it is.
 */
#ifndef MTRACE_RECORDER_URGENCY_H
#define MTRACE_RECORDER_URGENCY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The maximum time for which a thread is raised, unless the recorder is killed. */
#define URGENCY_MOST_NS 20000000u

/* Of the calling thread, all zero at first. */
struct urgency {
    uint64_t slice_ns; /* its own before */
    int policy;        /* as below */
    bool is_taken;
    bool may_lift; /* may raise threads of the process */
};

/* What a raised thread gets back. */
struct urgency_before {
    int policy;              /* as for sched_setscheduler, with priority 0 */
    uint64_t timer_slack_ns; /* changed by new kernels on entering and leaving real time */
};

/* Call before any thread of `pid` is stopped. A process with a real-time CPU limit is not raised:
 * it could be killed for that. */
void urgency_look(struct urgency *urgency, pid_t pid);

/* Sets the nice value of the calling thread, in addition to real time; it counts only within one
 * session or control group. The thread must only stop others and then end. */
void urgency_prepare(void);

/* Stays in effect until urgency_give. */
void urgency_take(struct urgency *urgency);
void urgency_give(struct urgency *urgency);

/* False: the thread must not be raised, because it could not be undone or it has special scheduling
 * already. */
bool urgency_find(const struct urgency *urgency, pid_t tid, struct urgency_before *ret_before);

bool urgency_lift(pid_t tid, const struct urgency_before *before);

/* Does nothing if the thread's scheduling was changed by others. */
void urgency_lower(pid_t tid, const struct urgency_before *before);

#endif
