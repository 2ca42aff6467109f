/* SPDX-License-Identifier: MIT */
/*
 * heap_scan: the live blocks of the heaps at one instant, in order of address, and what follows
 * from them: pages, parts, holes.
 *
 * Model:   one SELECT over allocation rows, sorted by SQLite (which spills to disk), read once. A
 *          chunk is what the allocator gave for a block: [address, address + usable), under glibc
 *          with its header of 8 bytes. A hole is what lies between two chunks, or between malloc's
 *          own structures at the start of a heap and its lowest chunk; what is above the topmost
 *          chunk is no hole. A chunk in glibc's own caches of freed chunks is a hole, too.
 * Invariants
 *   HS-1 Pages come by heap and address, used ones only; then the heap's end, once for every heap.
 *   HS-2 For the instants that the file has, pages and parts are those of the file.
 *   HS-3 When no blocks overlap, the holes of a heap and what is left of its last used page are its
 *        hole_bytes + free_page_bytes.
 *   HS-4 A heap with unseen blocks has no holes; of its state the extent, live and slack bytes hold.
 *   HS-5 Memory: with the largest block and the stack tree, not with the heaps.
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

/* One heap of a process that lives at the instant. */
struct heap_scan_heap {
    int64_t heap_id;
    int64_t process_id;
    int64_t at_ns;
    uint64_t start, end; /* of all it ever held */
    uint64_t end_then;   /* as last seen; 0: not seen */
    uint64_t lowest_block;
    uint64_t page_bytes;
    uint32_t header_bytes; /* before each block; 0: not known */
    bool has_unseen;       /* blocks without a row may lie in it: what is free is not known */
    char kind[8];          /* 'brk', 'arena', 'other' */
};

struct heap_scan_page {
    uint64_t address;
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t overhead_bytes;
    int64_t example_allocation_id; /* the block born first */
    int64_t owner_backtrace_id;    /* its stack */
    int64_t common_frames;         /* innermost ones of all blocks; HEAP_SCAN_ONE_STACK */
};

struct heap_scan_state {
    struct heap_parts parts;
    uint64_t pages_to[HEAP_PARTS_QUARTERS];
    int64_t topmost_allocation_id; /* 0: no live block */
    int64_t topmost_backtrace_id;
};

/* What is done with them; functions that are NULL are not called, others return 0 or a code. */
struct heap_scan_sink {
    void *to;
    int (*page)(void *to, const struct heap_scan_heap *heap, const struct heap_scan_page *page,
                struct error *err);
    int (*hole)(void *to, const struct heap_scan_heap *heap, uint64_t bytes, struct error *err);
    int (*end)(void *to, const struct heap_scan_heap *heap, const struct heap_scan_state *state,
               struct error *err);
};

/* An instant: the compiled filter of one alive_at and nothing else, and its value again. */
struct heap_scan_instant {
    const struct filter_sql *filter;
    char at_sql[32]; /* of processes AS p: "p.peak_ns", or a number */
};

/* The scan as a statement; sqlite3_free it, NULL: no memory. */
char *heap_scan_sql(const struct filter_sql *filter);

int heap_scan_run(const struct rundb *database, const struct heap_scan_instant *instant,
                  const struct heap_scan_sink *sink, struct error *err);

#endif
