/* SPDX-License-Identifier: MIT */
/*
 * heap_pins: pages whose live blocks may have one call site (HP-3), summed by process and stack.
 *
 * Invariants
 *   HN-1 There is one pin per process, stack and number of frames that the stacks of a page share
 *        (0: pages of this stack alone). Pages without a shared frame or with possible unseen
 *        blocks (HR-4) are in no pin.
 *   HN-2 Its example is a block in its page with the fewest live bytes, the lowest if several.
 *
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_HEAP_PINS_H
#define MTRACE_IMPORTER_HEAP_PINS_H

#include "importer/totals/heap_pages.h"
#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct heap_pin {
    uint32_t node;
    uint32_t common_frames; /* 0: all, there is one stack */
    uint32_t heap;          /* one of its process's heaps */
    uint64_t n_pages;
    uint64_t live_bytes;
    uint64_t emptiest_bytes;
    uint64_t example_id;
};

/* After heap_pages_finish. Sorted by process, node and common_frames. The caller frees *ret with
 * free(); it is NULL after a failure. */
int heap_pins_make(const struct heap_pages *pages, struct heap_pin **ret, size_t *ret_n,
                   struct error *err);

#endif
