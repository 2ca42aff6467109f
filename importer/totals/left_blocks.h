/* SPDX-License-Identifier: MIT */
/*
 * left_blocks: the blocks that are live at the end, for their rows when other rows are omitted.
 *
 * The pairing reports them in no order; left_blocks_next sorts them by id on the first call.
 *
 * Invariants
 *   LB-1 Memory: 56 bytes per block.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_LEFT_BLOCKS_H
#define MTRACE_IMPORTER_LEFT_BLOCKS_H

#include "importer/pairing/lifetimes.h"
#include "importer/pairing/live_table.h"
#include "importer/pairing/pairing.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct left_block {
    struct live_block block;
    uint32_t group;
    uint8_t ended_by; /* enum pairing_ended_by */
};

/* Zero-initialized: disabled. */
struct left_blocks {
    struct left_block *list;
    size_t n, capacity;
    size_t n_reported;
    bool is_wanted, is_sorted;
};

void left_blocks_done(struct left_blocks *blocks);
int left_blocks_add(struct left_blocks *blocks, const struct live_block *block, uint32_t group,
                    enum pairing_ended_by ended_by, struct error *err);

/* The next block as an allocation, in order of id, without its earlier chain; false at the end. */
bool left_blocks_next(struct left_blocks *blocks, struct allocation *ret);

#endif
