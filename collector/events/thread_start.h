/* SPDX-License-Identifier: MIT */
/*
 * starts: what a new thread must be told, from its creator until it has begun.
 *
 * Model:   places in chunks that are mapped when they are needed and stay; those that were given back are
 *          on a list, by numbers with a tag that tells each change of its top apart.
 * Invariants
 *   NB-1 A place that was taken is nobody else's until it is given back; its memory is never unmapped.
 *   NB-2 There are as many as are wanted: no thread is born without its group because others are, too.
 *   NB-3 A fork child has lost the places of threads that had not begun, and nothing else.
 * Threads: any. Signals: safe. Failure: NULL without memory, or behind a seccomp filter, where only the first chunk is;
 *          then the thread begins in the root group.
 */
#ifndef MTRACE_COLLECTOR_THREAD_START_H
#define MTRACE_COLLECTOR_THREAD_START_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

enum {
    THREAD_START_IN_CHUNK = 256,
    THREAD_START_CHUNKS = 1 << 14, /* 2^22 threads are the most that Linux has */
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
