/* SPDX-License-Identifier: MIT */
/*
 * thread_numbers: which number a thread has in the log.
 *
 * Model:   1, 2, … in order of their first events. Where no more than `most` are told apart (MTRACE_MAX_THREADS), those up to it are one thread's for good,
 *          and the others are shared: one that ended leaves its number to the next that begins, so there are as many as lived at once, or a few more.
 * Invariants
 *   TN-1 At any time a number is one thread's; what it wrote as that is in its segment before another one has the number. What it still does afterwards, in
 *        destructors that come later, is in the log under the number 0, which is that of threads that are not known.
 *   TN-2 A number that finds no place among those that wait is nobody's from then on.
 *   TN-3 Before the first event that a thread writes under a number that was another one's there is a LOG_NEXT_OWNER: so no block of the one counts as
 *        the other's.
 * Threads: any. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_THREAD_NUMBERS_H
#define MTRACE_COLLECTOR_THREAD_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    THREAD_NUMBERS_WAITING = 1024
};

/* most 0: all are told apart. */
static inline bool thread_numbers_is_shared(uint32_t number, uint32_t most)
{
    return most && number > most;
}

/* *ret_is_new: nobody had it yet in this log. */
uint32_t thread_numbers_take(bool *ret_is_new);

/* Of a shared one whose thread has ended. */
void thread_numbers_leave(uint32_t number);

/* The log is another one. */
void thread_numbers_forget(void);

#endif
