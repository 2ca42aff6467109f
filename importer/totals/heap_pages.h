/* SPDX-License-Identifier: MIT */
/*
 * heap_pages: the pages of the heaps at one time, and the six parts of their footprint.
 *
 * The blocks that were live at that time are added in any order. A block occupies the pages of
 * [address, address + usable). lib/totals/heap_parts.h defines overhead. A pin is the pages whose
 * live blocks may have one call site (HP-3), summed by process and stack.
 *
 * Invariants
 *   HP-1 The parts of every heap sum to its extent.
 *   HP-2 A used page holds a live byte. Holes lie in used pages, top is whole pages above the last
 *        used one, free pages are below it. Overhead is subtracted from the part in which it lies.
 *   HP-3 A page has an owner if all its live blocks come from one stack. For several stacks, the
 *        number of innermost frames that they share is known, up to 254: enough to compare call
 *        sites.
 *   HP-4 Memory: 24 to 48 bytes per page on which a live block begins or ends, 136 per MiB with
 *        such pages (48 per used page after heap_pages_finish), 32 per block that fills whole
 *        pages, and 150 per heap.
 *   HP-5 A page is in at most one element of `pages`. If blocks overlap because events were
 *        dropped, the lowest run keeps it.
 *   HN-1 There is one pin per process, stack and number of frames that the stacks of a page share
 *        (0: pages of this stack alone). Pages without a shared frame or with possible unseen
 *        blocks (HR-4) are in no pin.
 *   HN-2 Its example is a block in its page with the fewest live bytes, the lowest if several.
 *
 * Threads: one at a time.
 * Errors: memory.
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

/* A used page, or a run of pages that one block fills. */
struct heap_page {
    uint64_t address;
    uint64_t example_id : 46;
    uint64_t live_blocks : 18;
    uint64_t n_pages;
    uint64_t live_bytes; /* usable bytes of live blocks on these pages */
    uint32_t heap;
    uint32_t owner_backtrace; /* the stack of example_id, the block with the lowest id */
    uint8_t common_frames;    /* innermost frames shared by all stacks, or HEAP_PAGES_ONE_STACK */
};

struct heap_state {
    struct heap_parts parts;
    uint64_t pages_to[HEAP_PARTS_QUARTERS]; /* used pages by fill: to 25, 50, 75, 100 % */
    uint64_t topmost_end;                   /* 0: no live block */
    uint64_t topmost_id;
    uint32_t topmost_backtrace;
};

struct page_cell;

/* The page of the last added block; zero-initialized: none. */
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
    struct heap_page *pages; /* after heap_pages_finish, sorted by heap and address */
    size_t n_pages;
    struct heap_state *states; /* by heap id */
    size_t n_heaps;
    const uint32_t *page_bytes; /* by process; powers of two */
    const struct definitions_backtrace *stacks;
};

/* After heap_ranges_finish. page_bytes and stacks are not copied. stacks is indexed by id; NULL:
 * shared frames are not computed. Call heap_pages_done also after a failure. */
int heap_pages_init(struct heap_pages *pages, struct heap_ranges *ranges,
                    const uint32_t *page_bytes, const struct definitions_backtrace *stacks,
                    struct error *err);
void heap_pages_done(struct heap_pages *pages);

/* Adds a live block; allocation->heap is its heap. Blocks without a heap are ignored. */
int heap_pages_add(struct heap_pages *pages, const struct allocation *allocation,
                   struct error *err);

/* Copies the blocks added so far to `to`, which was initialized with the same arguments and is
 * empty. */
int heap_pages_copy(struct heap_pages *to, const struct heap_pages *from, struct error *err);

/* Computes the parts. moment_ns[process] is the time, which determines the extent of the heaps.
 * Afterwards pages[0..n_pages) are the used pages in order. */
int heap_pages_finish(struct heap_pages *pages, const uint64_t *moment_ns, struct error *err);

struct heap_pin {
    uint32_t backtrace;
    uint32_t common_frames; /* 0: all, there is one stack */
    uint32_t heap;          /* one of its process's heaps */
    uint64_t n_pages;
    uint64_t live_bytes;
    uint64_t emptiest_bytes;
    uint64_t example_id;
};

/* After heap_pages_finish. Sorted by process, backtrace and common_frames. The caller frees *ret
 * with free(); it is NULL after a failure. */
int heap_pages_make_pins(const struct heap_pages *pages, struct heap_pin **ret, size_t *ret_n,
                         struct error *err);

#endif
