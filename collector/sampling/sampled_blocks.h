/* SPDX-License-Identifier: MIT */
/*
 * sampled_blocks: the addresses of live blocks whose allocation was recorded, when sampling.
 *
 * Each 64-byte line of a 4 MiB range has a counter of the addresses in the set that map to it. If
 * the counter is 0, as for nearly all frees, nothing else is examined. Neighbouring lines have
 * neighbouring counters: a program that frees many small blocks finds the counters in the cache.
 * Otherwise the exact set decides: tables of addresses (address_tables.h), in which a bucket is a
 * cache line.
 *
 * Invariants
 *   SB-1 The free of a block is recorded if and only if its allocation was. An address is added
 *        after the allocator made the block, and taken before the allocator gets it back. So no two
 *        threads add or take one address at the same time.
 *   SB-2 A counter is at least the number of addresses in the set that map to it. A counter that
 *        reached its maximum stays there.
 *   SB-3 Fork children inherit the set unchanged.
 *
 * Threads: any, without locks. Async-signal-safe: an operation that is abandoned leaves a counter
 * too high, or an address without a block. Without memory a block must not be recorded.
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
    SAMPLED_BLOCKS_PLACE_LOG2 = 6, /* one counter for all blocks that begin in a cache line */
};

_Static_assert(SAMPLED_BLOCKS_COUNTERS_LOG2 == 16, "a counter's number is cut to 16 bits");

extern MTRACE_HIDDEN _Atomic uint8_t
    g_sampled_blocks_counters[1 << SAMPLED_BLOCKS_COUNTERS_LOG2]; /* written by sampled_blocks.c */

static inline _Atomic uint8_t *sampled_blocks_counter(const void *block)
{
    return &g_sampled_blocks_counters[(uint16_t)((uintptr_t)block >> SAMPLED_BLOCKS_PLACE_LOG2)];
}

/* For a process that begins another recording, which does not have these blocks. No other thread
 * may add or take. */
void sampled_blocks_forget_all(void);

/* Adds an address. It is not added twice: the free of the earlier block was not seen. False: no
 * memory. */
MTRACE_NODISCARD bool sampled_blocks_add(const void *block);

MTRACE_COLD bool sampled_blocks_take_slow(const void *block);
MTRACE_COLD bool sampled_blocks_has_slow(const void *block);

static inline bool sampled_blocks_may_have(const void *block)
{
    return mtrace_unlikely(atomic_load_explicit(sampled_blocks_counter(block), memory_order_relaxed)
                           != 0);
}

/* Removes the address. True: it was in the set. */
MTRACE_NODISCARD static inline bool sampled_blocks_take(const void *block)
{
    return sampled_blocks_may_have(block) && sampled_blocks_take_slow(block);
}

/* Removes the address, if it is in the set. */
static inline void sampled_blocks_forget(const void *block)
{
    (void)!sampled_blocks_take(block);
}

static inline bool sampled_blocks_has(const void *block)
{
    return sampled_blocks_may_have(block) && sampled_blocks_has_slow(block);
}

#endif
