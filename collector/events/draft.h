/* SPDX-License-Identifier: MIT */
/*
 * draft: the words of an event, before it has a time.
 *
 * Threads: any. Async-signal-safe. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_DRAFT_H
#define MTRACE_COLLECTOR_DRAFT_H

#include "collector/events/reservation.h"
#include "collector/os/real.h"
#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An event without its time. words[0] and words[1] get it when the event is written. */
struct draft {
    uint64_t words[RESERVATION_MOST_WORDS];
    unsigned n_words;
};

static inline uint64_t draft_address(const void *block)
{
    return (uintptr_t)block & (((uint64_t)1 << LOG_ADDRESS_BITS) - 1);
}

/* ---- what the allocator knows of a block ---- */

/* Written by record_init. */
extern MTRACE_HIDDEN bool g_draft_has_chunk_headers;

struct draft_usable {
    size_t size_bytes; /* 0 = unknown */
    unsigned flags;    /* LOG_CHUNK_* */
};

/* glibc stores the size of a chunk in the word before the block. Its low bits: 1 the previous chunk
 * is in use, 2 the chunk is a mapping of its own, 4 it is not in the main arena. The size includes
 * that word; a mapped chunk has one more. */
static inline struct draft_usable draft_usable_of(const void *block)
{
    struct draft_usable usable = {0, 0};
    size_t word;

    if (!g_draft_has_chunk_headers) {
        if (g_real.malloc_usable_size)
            usable.size_bytes = g_real.malloc_usable_size((void *)(uintptr_t)block);
        return usable;
    }
    word = ((const size_t *)block)[-1];
    usable.size_bytes = (word & ~(size_t)7) - (word & 2 ? 2 * sizeof(word) : sizeof(word));
    usable.flags =
        LOG_CHUNK_KNOWN | (word & 2 ? LOG_CHUNK_MMAPPED : 0) | (word & 4 ? LOG_CHUNK_NON_MAIN : 0);
    return usable;
}

/* The third word of an allocation. is_narrow: the values fit into that word. */
struct draft_extent {
    uint64_t size_bytes;
    uint64_t usable_bytes;
    uint64_t flags; /* enum log_call and LOG_CHUNK_* */
    uint64_t narrow_word;
    bool is_narrow;
};

/* known: the usable size, if the caller knows it; NULL: the allocator is asked. */
static inline struct draft_extent draft_extent_of(const void *block, size_t size_bytes,
                                                  unsigned call, const struct draft_usable *known)
{
    struct draft_usable usable = known ? *known : draft_usable_of(block);
    uint64_t slack = usable.size_bytes - size_bytes;
    uint64_t flags = call | usable.flags;

    return (struct draft_extent){
        .size_bytes = size_bytes,
        .usable_bytes = usable.size_bytes,
        .flags = flags,
        .narrow_word =
            size_bytes | slack << LOG_SIZE_BITS | flags << (LOG_SIZE_BITS + LOG_SLACK_BITS),
        .is_narrow = (uint64_t)size_bytes >> LOG_SIZE_BITS == 0 && slack >> LOG_SLACK_BITS == 0,
    };
}

/* ---- events ---- */

/* The caller puts the stack id into the high half of words[0]. */
void draft_alloc(struct draft *draft, const void *block, const struct draft_extent *extent,
                 size_t alignment);
void draft_realloc(struct draft *draft, const void *block, const void *old,
                   const struct draft_extent *extent, uint64_t took_ticks);

#endif
