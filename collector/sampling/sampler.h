/* SPDX-License-Identifier: MIT */
/*
 * sampler: decides which blocks are recorded, when sampling.
 *
 * Each requested byte is drawn with a probability of 1 in `mean`, independently of all others. A
 * block is a sample if one of its bytes is drawn. A thread does not draw bytes one by one: it
 * counts down to the next drawn byte, over an exponentially distributed interval. A word that the
 * kernel clears in fork children shows whether the state of a thread belongs to this process.
 *
 * Invariants
 *   SA-1 A block of s bytes (0 bytes count as 1) is a sample with probability 1 - exp(-s / mean),
 *        whatever was allocated before.
 *   SA-2 If a countdown interrupts another one, one of the two counts may be lost. The probability
 *        stays the same: what is left to count down does not depend on what was counted.
 *   SA-3 With a seed of the user, the n-th allocating thread of a process draws the same samples in
 *        each run. So it does in the n-th fork child of such a process, if fork, _Fork, forkpty or
 *        daemon made it.
 *   SA-4 No two processes draw by the same random numbers or continue the same countdown. A fork
 *        child draws the interval that it inherited again.
 *
 * Threads: each uses its own state. Async-signal-safe. Cannot fail.
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
    int64_t left;   /* bytes up to the next drawn byte */
    uint64_t state; /* of the random number generator; never 0 once seeded */
    uint64_t fork;  /* number of the fork in which this thread is; 0: none */
    uint32_t epoch; /* epoch in which it was seeded; 0: never */
};

extern MTRACE_HIDDEN _Thread_local struct sampler g_sampler
    __attribute__((tls_model("initial-exec")));

/* The current epoch; 0 in a fork child that has not drawn yet. A page of its own, because the
 * kernel clears whole pages, and in the library, so that its address is a constant. Written by
 * sampler.c. */
struct sampler_page {
    _Alignas(ARCH_MAX_PAGE_BYTES) _Atomic uint32_t epoch;
};

extern MTRACE_HIDDEN struct sampler_page g_sampler_page;

/* Once for each process image, not in its fork children. seed 0: a random one. */
void sampler_begin(uint64_t mean_bytes, uint64_t seed);

/* Around a fork, to give it a number. */
void sampler_fork_begins(void);
void sampler_fork_ended(bool is_child);

MTRACE_COLD bool sampler_draw(int64_t size_bytes);

/* The countdown has reached the next drawn byte, or belongs to another process. */
static inline bool sampler_is_due(void)
{
    return g_sampler.left <= 0
           || g_sampler.epoch != atomic_load_explicit(&g_sampler_page.epoch, memory_order_relaxed);
}

static inline int64_t sampler_bytes_of(size_t size_bytes)
{
    return (int64_t)(size_bytes + (size_bytes == 0));
}

/* Counts a block of this size. True: it may be a sample. */
static inline bool sampler_count(size_t size_bytes)
{
    int64_t left = (int64_t)((uint64_t)g_sampler.left - size_bytes - (size_bytes == 0));

    g_sampler.left = left;
    return mtrace_unlikely(
        left <= 0
        || g_sampler.epoch != atomic_load_explicit(&g_sampler_page.epoch, memory_order_relaxed));
}

/* Counts a block of this size. True: it is a sample. */
static inline bool sampler_count_and_draw(size_t size_bytes)
{
    return sampler_count(size_bytes) && sampler_draw(sampler_bytes_of(size_bytes));
}

/* Takes back the count of a block that was no sample and is not allocated. Otherwise a huge size (a
 * negative number) would keep the thread from samples for that many bytes. */
static inline void sampler_uncount(size_t size_bytes)
{
    g_sampler.left = (int64_t)((uint64_t)g_sampler.left + size_bytes + (size_bytes == 0));
}

/* Bytes up to and including the next drawn byte, by the next number of a generator. */
uint64_t sampler_interval(uint64_t mean_bytes, uint64_t *state);

#endif
