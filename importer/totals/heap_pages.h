/* SPDX-License-Identifier: MIT */
/*
 * heap_pages: what lay on each page of the heaps at one moment, and the six parts of their
 * footprint.
 *
 * Model:   the blocks that were live at the moment are added in any order. A block lives on the
 * pages of [address, address + usable). What is overhead says lib/totals/heap_parts.h.
 * Invariants
 *   HP-1 The parts of every heap sum to its extent (PA-1).
 *   HP-2 A used page holds a live byte; holes lie in used pages, top is whole pages above the last
 *        used one, free pages are below it. Overhead is taken from whatever it lies in.
 *   HP-3 A page has an owner when all its live blocks come from one stack. Of several stacks it is
 *        known how many innermost frames they all share, up to 254: enough to see whether they have
 *        one call site.
 *   HP-4 Memory: 24 to 48 bytes for each page on which a live block begins or ends, and 136 for each
 *        stretch of HEAP_PAGES_CHUNK pages (a MiB) that has one, which heap_pages_finish turns into
 *        48 bytes per used page; 32 bytes for each block that fills whole pages, however many: they
 *        are one run. 150 bytes per heap.
 *   HP-5 A page is in one element of `pages` at most: where blocks overlap, because events were
 *        dropped, the lowest run keeps it.
 * Threads: none. Failure: memory.
 */
#ifndef MTRACE_IMPORTER_HEAP_PAGES_H
#define MTRACE_IMPORTER_HEAP_PAGES_H

#include "importer/model/definitions.h"
#include "importer/pairing/lifetimes.h"
#include "importer/totals/heap_ranges.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/totals/heap_parts.h"

#include <stddef.h>
#include <stdint.h>

#define HEAP_PAGES_ONE_STACK UINT8_MAX

enum {
    HEAP_PAGES_CHUNK = 256
};

/* A used page, or the pages that one block fills. */
struct heap_page {
    uint64_t address;
    uint64_t example_id : 46;
    uint64_t live_blocks : 18;
    uint64_t n_pages;
    uint64_t live_bytes; /* usable bytes of live blocks on these pages */
    uint32_t heap;
    uint32_t owner_node;   /* the stack of example_id, the block with the lowest id */
    uint8_t common_frames; /* innermost ones that all stacks share, or HEAP_PAGES_ONE_STACK */
};

struct heap_state {
    struct heap_parts parts;
    uint64_t pages_to[HEAP_PARTS_QUARTERS]; /* used pages by fill: to 25, 50, 75, 100 % */
    uint64_t topmost_end;                   /* 0: no live block */
    uint64_t topmost_id;
    uint32_t topmost_node;
};

struct page_cell;

/* The page that a block was added to last; all zero: none. */
struct heap_page_found {
    struct page_cell *cell;
    uint64_t address;
    uint32_t heap;
};

struct heap_pages {
    struct heap_ranges *ranges;
    struct hash_map chunks; /* of struct heap_chunk; until heap_pages_finish */
    struct heap_page_found last;
    struct heap_run *runs; /* until heap_pages_finish */
    size_t n_runs, max_runs;
    struct heap_page *pages; /* after it, sorted by heap and address */
    size_t n_pages;
    struct heap_state *states; /* by heap id */
    size_t n_heaps;
    const uint32_t *page_bytes; /* by process; powers of two */
    const struct definitions_backtrace *stacks;
};

/* The heaps must be made. page_bytes and stacks (by id; NULL: what frames several share is not wanted) are kept, not copied.
 * heap_pages_done also after a failure. */
int heap_pages_init(struct heap_pages *pages, struct heap_ranges *ranges,
                    const uint32_t *page_bytes, const struct definitions_backtrace *stacks,
                    struct error *err);
void heap_pages_done(struct heap_pages *pages);

/* A block that was live; allocation->heap is its heap. Blocks of no heap are ignored. */
int heap_pages_add(struct heap_pages *pages, const struct allocation *allocation,
                   struct error *err);

/* Into one that heap_pages_init made alike, and nothing was added to: what was added to the other one so far. */
int heap_pages_copy(struct heap_pages *to, const struct heap_pages *from, struct error *err);

/* moment_ns[process]: when it was, to know how far the heaps reached. Afterwards pages[0..n_pages)
 * are the used pages in order. */
int heap_pages_finish(struct heap_pages *pages, const uint64_t *moment_ns, struct error *err);

#endif
