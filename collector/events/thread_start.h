/* SPDX-License-Identifier: MIT */
/*
 * thread_start: arguments for a new thread, from its creator until it has begun.
 *
 * The arguments are in places of chunks, which are mapped on demand and never unmapped. Free places
 * form a list, linked by numbers; the top carries a tag that every change increments.
 *
 * Invariants
 *   NB-1 A place has one user from thread_start_take until it is given back. Its memory is never
 *        unmapped.
 *   NB-2 The number of places is not limited: every thread gets its group, however many start at
 *        the same time.
 *   NB-3 A fork child loses only the places of threads that had not begun.
 *
 * Threads: any. Async-signal-safe. NULL: there is no memory; behind a seccomp filter only the first
 * chunk exists. The thread then begins in the root group.
 */
#ifndef MTRACE_COLLECTOR_THREAD_START_H
#define MTRACE_COLLECTOR_THREAD_START_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

enum {
    THREAD_START_IN_CHUNK = 256,
    THREAD_START_CHUNKS = 1 << 14, /* 2^22: the limit of Linux */
};

struct start {
    union {
        void *(*posix)(void *);
        thrd_start_t c11;
    } routine;

    void *argument;
    size_t stack_bytes;
    uint32_t group;
    uint32_t number;       /* its own; written once */
    _Atomic uint32_t next; /* on the list, as in its top */
};

struct start *thread_start_take(void);
void thread_start_give_back(struct start *start);

#endif
