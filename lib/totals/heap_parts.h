/* SPDX-License-Identifier: MIT */
/*
 * heap_parts: the six parts of a heap's footprint at one time, computed from counts over its pages.
 *
 * The caller counts live blocks: the importer for the peak and the end, a query for any time. Under
 * glibc a header word precedes each block. The space between the start of a heap and the header of
 * the lowest block ever seen is malloc's own (arena, thread cache). Both are overhead.
 *
 * Invariants
 *   PA-1 extent = live + slack + overhead + hole + free pages + top, exactly, for any counts.
 *   PA-2 When blocks overlap, because events were dropped, overhead, slack and live are reduced, in
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
    uint64_t topmost_end;      /* of its live blocks; 0: none */
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

/* End of malloc's own structures before the lowest block; `start` if there are none. header_bytes:
 * of a block; 0: unknown allocator. */
uint64_t heap_parts_own_end(uint32_t header_bytes, uint64_t start, uint64_t lowest_block);

/* The page size of a recording if it is plausible, else 4096. */
uint64_t heap_parts_page_bytes(int64_t page_bytes);

/* 0 to 3: which quarter of a page is filled. */
unsigned heap_parts_quarter(uint64_t live_bytes, uint64_t page_bytes);

#endif
