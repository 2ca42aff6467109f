/* SPDX-License-Identifier: MIT */
/*
 * sampled_blocks: the addresses of live blocks whose beginning was recorded, where not all are.
 *
 * Model:   a counter for each place in 4 MiB says how many of them have it: where it is 0, which it is for nearly all
 *          blocks that end, nothing else is asked. Neighbours have neighbouring counters, one for 64 bytes: who frees many blocks
 *          of a few pages finds those in the cache, and the program its own data. Else the exact set decides: tables of addresses
 *          (address_tables.h), of which a bucket is a line of the cache.
 * Invariants
 *   SB-1 The end of a block is recorded if and only if its beginning was: it is added after the allocator made it, and taken
 *        before the allocator gets it back, so no two threads add or take the same address at once.
 *   SB-2 A counter is at least the number of addresses in the set that have its place. One that came to its end stays there.
 *   SB-3 Fork children inherit it as it was.
 * Threads: any, without locks. Signals: safe; who is stopped in between leaves a counter too high, or an address without a
 * block. Failure: no memory, and the block is not to be recorded.
 */
#ifndef MTRACE_COLLECTOR_SAMPLED_BLOCKS_H
#define MTRACE_COLLECTOR_SAMPLED_BLOCKS_H

#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAMPLED_BLOCKS_COUNTERS_LOG2 = 16,
    SAMPLED_BLOCKS_PLACE_LOG2 =
        6, /* a line of the cache is the place of all blocks that begin there */
};

_Static_assert(SAMPLED_BLOCKS_COUNTERS_LOG2 == 16, "a counter's number is cut to 16 bits");

extern MTRACE_HIDDEN _Atomic uint8_t
    g_sampled_blocks_counters[1 << SAMPLED_BLOCKS_COUNTERS_LOG2]; /* written by sampled_blocks.c */

static inline _Atomic uint8_t *sampled_blocks_counter(const void *block)
{
    return &g_sampled_blocks_counters[(uint16_t)((uintptr_t)block >> SAMPLED_BLOCKS_PLACE_LOG2)];
}

/* In a process that begins another recording: its blocks are none of that. Nobody adds or takes meanwhile. */
void sampled_blocks_forget_all(void);

/* False: no memory. An address that is there already stays once: its block ended unseen. */
MTRACE_NODISCARD bool sampled_blocks_add(const void *block);

MTRACE_COLD bool sampled_blocks_take_slow(const void *block);
MTRACE_COLD bool sampled_blocks_has_slow(const void *block);

static inline bool sampled_blocks_may_have(const void *block)
{
    return mtrace_unlikely(atomic_load_explicit(sampled_blocks_counter(block), memory_order_relaxed)
                           != 0);
}

/* Was it there? It is not any more. */
MTRACE_NODISCARD static inline bool sampled_blocks_take(const void *block)
{
    return sampled_blocks_may_have(block) && sampled_blocks_take_slow(block);
}

/* Whether it was there or not. */
static inline void sampled_blocks_forget(const void *block)
{
    (void)!sampled_blocks_take(block);
}

static inline bool sampled_blocks_has(const void *block)
{
    return sampled_blocks_may_have(block) && sampled_blocks_has_slow(block);
}

#endif
