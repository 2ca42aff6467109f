/* SPDX-License-Identifier: MIT */
/*
 * left_blocks: the blocks that are live at the end, for rows of them where all others have none.
 *
 * Model:   pairing tells them in no order; they are sorted by id when the first is asked for.
 * Invariants
 *   LB-1 Memory: 56 bytes for each.
 * Threads: none.
 * Failure: memory.
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

/* All zero: none are wanted. */
struct left_blocks {
    struct left_block *list;
    size_t n, capacity;
    size_t n_reported;
    bool is_wanted, is_sorted;
};

void left_blocks_done(struct left_blocks *blocks);
int left_blocks_add(struct left_blocks *blocks, const struct live_block *block, uint32_t group,
                    enum pairing_ended_by ended_by, struct error *err);

/* The next one as an allocation, in order of id, without what came before it in its chain; false behind the last. */
bool left_blocks_next(struct left_blocks *blocks, struct allocation *ret);

#endif
