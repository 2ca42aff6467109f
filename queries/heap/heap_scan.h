/* SPDX-License-Identifier: MIT */
/*
 * heap_scan: the live blocks of the heaps at one time, in the order of addresses, and the pages,
 * parts and holes that follow from them.
 *
 * One SELECT over allocation rows, sorted by SQLite (which spills to disk), is read once. A chunk
 * is what the allocator gave for a block: [address, address + usable), under glibc plus a header of
 * 8 bytes. A hole is the memory between two chunks, or between malloc's own structures at the start
 * of a heap and its lowest chunk. Memory above the topmost chunk is no hole. Chunks in glibc's
 * caches of freed chunks are holes.
 *
 * Invariants
 *   HS-1 Used pages come by heap and address, then the end of the heap, once for every heap.
 *   HS-2 For the times that the file has, pages and parts are those of the file.
 *   HS-3 If no blocks overlap, the holes of a heap and the rest of its last used page add up to its
 *        hole_bytes + free_page_bytes.
 *   HS-4 A heap with unseen blocks has no holes; of its state only extent, live and slack bytes
 *        hold.
 *   HS-5 Memory grows with the largest block and the stack tree, not with the heaps.
 */
#ifndef MTRACE_QUERIES_HEAP_SCAN_H
#define MTRACE_QUERIES_HEAP_SCAN_H

#include "lib/totals/heap_parts.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct filter_sql;
struct rundb;

#define HEAP_SCAN_ONE_STACK INT64_MAX

/* One heap of a process that lives at the time. */
struct heap_scan_heap {
    int64_t heap_id;
    int64_t process_id;
    int64_t at_ns;
    uint64_t start, end; /* of its whole life */
    uint64_t end_then;   /* as last seen; 0: not seen */
    uint64_t lowest_block;
    uint64_t page_bytes;
    uint32_t header_bytes; /* before each block; 0: unknown */
    bool has_unseen;       /* blocks without a row may lie in it: its free memory is unknown */
    char kind[8];          /* 'brk', 'arena', 'other' */
};

struct heap_scan_page {
    uint64_t address;
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t overhead_bytes;
    int64_t example_allocation_id; /* the block that was allocated first */
    int64_t owner_backtrace_id;    /* its stack */
    int64_t common_frames; /* innermost frames common to all blocks, or HEAP_SCAN_ONE_STACK */
};

struct heap_scan_state {
    struct heap_parts parts;
    uint64_t pages_to[HEAP_PARTS_QUARTERS];
    int64_t topmost_allocation_id; /* 0: no live block */
    int64_t topmost_backtrace_id;
};

/* Callbacks. NULL: not called. They return 0 or an error code. */
struct heap_scan_sink {
    void *to;
    int (*page)(void *to, const struct heap_scan_heap *heap, const struct heap_scan_page *page,
                struct error *err);
    int (*hole)(void *to, const struct heap_scan_heap *heap, uint64_t bytes, struct error *err);
    int (*end)(void *to, const struct heap_scan_heap *heap, const struct heap_scan_state *state,
               struct error *err);
};

/* A time: the compiled filter of a single alive_at, and its value. */
struct heap_scan_instant {
    const struct filter_sql *filter;
    char at_sql[32]; /* over processes AS p: "p.peak_ns", or a number */
};

/* The statement of the scan. Free with sqlite3_free; NULL: no memory. */
char *heap_scan_sql(const struct filter_sql *filter);

int heap_scan_run(const struct rundb *database, const struct heap_scan_instant *instant,
                  const struct heap_scan_sink *sink, struct error *err);

#endif
