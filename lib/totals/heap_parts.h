/* SPDX-License-Identifier: MIT */
/*
 * heap_parts: the six parts of a heap's footprint at one moment, from what was counted on its
 * pages.
 *
 * Model:   whoever goes over the live blocks counts (import: the peak and the end; a query: any
 *          instant); the arithmetic is here, once. Under glibc a chunk begins with a word of
 *          header right before the block, and what lies between the start of a heap and the header of the
 *          lowest block ever seen there is malloc's own (arena, thread cache): both are overhead.
 * Invariants
 *   PA-1 extent = live + slack + overhead + hole + free pages + top, exactly, whatever was counted.
 *   PA-2 When blocks overlap, because events were dropped, overhead, slack and live are cut, in
 *        this order.
 */
#ifndef MTRACE_LIB_HEAP_PARTS_H
#define MTRACE_LIB_HEAP_PARTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HEAP_PARTS_QUARTERS = 4
};

struct heap_count {
    uint64_t start;            /* of the heap */
    uint64_t end;              /* as last seen; 0: not seen */
    uint64_t topmost_end;      /* of its live blocks; 0: there is none */
    uint64_t live_bytes;       /* requested */
    uint64_t slack_bytes;      /* usable minus requested */
    uint64_t overhead_bytes;   /* of headers and malloc's own */
    uint64_t overhead_in_used; /* the part of it on used pages */
    uint64_t n_used;           /* pages that hold a live byte */
    uint64_t page_bytes;
};

struct heap_parts {
    uint64_t extent_bytes;
    uint64_t live_bytes, slack_bytes, overhead_bytes, hole_bytes, free_page_bytes, top_bytes;
};

/* n_used pages and overhead_in_used lie in [start, topmost_end rounded up to a page). */
struct heap_parts heap_parts_make(const struct heap_count *count);

/* Where malloc's own structures in front of the lowest block end; `start` when there are none.
 * header_bytes: of a block; 0: the allocator's ways are not known. */
uint64_t heap_parts_own_end(uint32_t header_bytes, uint64_t start, uint64_t lowest_block);

/* What a recording says of its pages, when that can be; else 4096. */
uint64_t heap_parts_page_bytes(int64_t page_bytes);

/* 0 to 3: which quarter of a page is filled. */
unsigned heap_parts_quarter(uint64_t live_bytes, uint64_t page_bytes);

#endif
