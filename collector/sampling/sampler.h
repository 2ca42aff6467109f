/* SPDX-License-Identifier: MIT */
/*
 * sampler: which blocks are recorded where not all are.
 *
 * Model:   each byte that is asked for is drawn with a probability of 1 in `mean`, independently of all others, and a block is a
 *          sample when one of its bytes is. Bytes are not drawn one by one: a thread counts down those to the next one drawn, an
 *          exponentially distributed number of them. A word that the kernel wipes in fork children says whose numbers a thread has.
 * Invariants
 *   SA-1 A block of s bytes (of none: as one of 1) is a sample with probability 1 - exp(-s / mean), whatever came before it.
 *   SA-2 Who interrupts a countdown, or is interrupted in one, may lose what the other counted, never SA-1: what is left
 *        to count down says nothing of what was counted.
 *   SA-3 With a seed of the user's the n-th thread of a process that allocates draws the same samples in each run. So it does in
 *        the n-th fork child of such a process, if fork, _Fork, forkpty or daemon made it.
 *   SA-4 No two processes draw by the same numbers, nor go on with the same countdown: what a fork child inherited is drawn anew.
 * Threads: each its own. Signals: safe. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_SAMPLER_H
#define MTRACE_COLLECTOR_SAMPLER_H

#include "collector/arch/arch.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sampler {
    int64_t left;   /* bytes up to the next one drawn */
    uint64_t state; /* of the generator; never 0 once it was seeded */
    uint64_t fork;  /* number of the fork that this thread is in; 0: of none */
    uint32_t epoch; /* when it was seeded; 0: never */
};

extern MTRACE_HIDDEN _Thread_local struct sampler g_sampler
    __attribute__((tls_model("initial-exec")));

/* What a thread's epoch must be; 0 in a fork child that has not drawn. A page of its own, as the kernel wipes whole ones, and
 * in the library, where nobody has to ask for its address first. Written by sampler.c. */
struct sampler_page {
    _Alignas(ARCH_MOST_PAGE_BYTES) _Atomic uint32_t epoch;
};

extern MTRACE_HIDDEN struct sampler_page g_sampler_page;

/* Once for each image, not again in its fork children; seed 0: any. */
void sampler_begin(uint64_t mean_bytes, uint64_t seed);

/* Around a fork, which so has a number. */
void sampler_fork_begins(void);
void sampler_fork_ended(bool is_child);

MTRACE_COLD bool sampler_draw(int64_t size_bytes);

/* What was counted came to the next byte that is drawn, or is none of this process. */
static inline bool sampler_is_due(void)
{
    return g_sampler.left <= 0
           || g_sampler.epoch != atomic_load_explicit(&g_sampler_page.epoch, memory_order_relaxed);
}

static inline int64_t sampler_counted(size_t size_bytes)
{
    return (int64_t)(size_bytes + (size_bytes == 0));
}

/* A block of this size is made: may it be a sample? */
static inline bool sampler_counts(size_t size_bytes)
{
    int64_t left = (int64_t)((uint64_t)g_sampler.left - size_bytes - (size_bytes == 0));

    g_sampler.left = left;
    return mtrace_unlikely(
        left <= 0
        || g_sampler.epoch != atomic_load_explicit(&g_sampler_page.epoch, memory_order_relaxed));
}

/* The same: is it one? */
static inline bool sampler_takes(size_t size_bytes)
{
    return sampler_counts(size_bytes) && sampler_draw(sampler_counted(size_bytes));
}

/* It was counted, was no sample, and is not made: a size that is a negative number would keep the thread from samples for as long as it is large. */
static inline void sampler_uncount(size_t size_bytes)
{
    g_sampler.left = (int64_t)((uint64_t)g_sampler.left + size_bytes + (size_bytes == 0));
}

/* Bytes up to the next one drawn, that one included, by the next number of a generator. */
uint64_t sampler_interval(uint64_t mean_bytes, uint64_t *state);

#endif
