/* SPDX-License-Identifier: MIT */
/*
 * thread_numbers: numbers for the threads in the log.
 *
 * Numbers are 1, 2, … in the order of first events. With a limit `most` (MTRACE_MAX_THREADS),
 * numbers up to it belong to one thread for good. Numbers above it are reused: a thread that ends
 * leaves its number to the next that begins. So there are about as many as threads lived at the
 * same time.
 *
 * Invariants
 *   TN-1 A number belongs to one thread at a time. What the thread wrote under it is in its segment
 *        before another thread gets the number. Events of its later destructors have number 0:
 *        unknown.
 *   TN-2 A number that finds no place among the waiting ones is not used again.
 *   TN-3 Before the first event that a thread writes under a reused number there is a
 *        LOG_NEXT_OWNER. So no block of one thread counts as the other's.
 *
 * Threads: any. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_THREAD_NUMBERS_H
#define MTRACE_COLLECTOR_THREAD_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    THREAD_NUMBERS_WAITING = 1024
};

/* True if the number is reused by other threads. most 0: no number is. */
static inline bool thread_numbers_is_shared(uint32_t number, uint32_t most)
{
    return most && number > most;
}

/* Takes a number. *ret_is_new: no thread of this log had it before. */
uint32_t thread_numbers_take(bool *ret_is_new);

/* Returns a shared number. Its thread has ended. */
void thread_numbers_leave(uint32_t number);

/* For a new log. */
void thread_numbers_forget(void);

#endif
