/* SPDX-License-Identifier: MIT */
/*
 * moment_blocks: which blocks were live at the peaks of processes, without reading all rows.
 *
 * Blocks live at the peak are those live at the end that were allocated before the peak, and those
 * freed since. The latter are kept in a list per process, which a new peak empties.
 * pairing_next_live has the live ones.
 *
 * Invariants
 *   MB-1 Together with the blocks live at the end, the lists contain exactly the blocks that rows
 *        show as live at the peak, in no order.
 *   MB-2 Memory: 48 bytes for each block that was live at the peak and freed since.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_MOMENT_BLOCKS_H
#define MTRACE_IMPORTER_MOMENT_BLOCKS_H

#include "importer/log/checkpoint_io.h"
#include "importer/pairing/live_table.h"
#include "importer/totals/stable_numbers.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct moment_block {
    uint64_t allocation_id;
    uint64_t address;
    uint64_t size_bytes, slack_bytes;
    uint32_t process, backtrace;
    uint8_t call;
};

struct moment_blocks;

int moment_blocks_new(uint32_t n_processes, struct moment_blocks **ret, struct error *err);

/* NULL is fine. */
void moment_blocks_free(struct moment_blocks *blocks);

/* A new peak of the process at peak_ns; last_id is the highest id then. Call before any later
 * event. */
void moment_blocks_peak(struct moment_blocks *blocks, uint32_t process, uint64_t peak_ns,
                        uint64_t last_id);
int moment_blocks_ended(struct moment_blocks *blocks, uint32_t process,
                        const struct live_block *block, struct error *err);

/* Makes an entry of a live block. */
struct moment_block moment_blocks_make(uint32_t process, const struct live_block *block);

/* Was a block that is live at the end also live at the peak of the process? */
bool moment_blocks_was_at_peak(const struct moment_blocks *blocks, uint32_t process,
                               uint64_t allocation_id);

/* The blocks that were live at the peak of the process and freed since. */
const struct moment_block *moment_blocks_ended_since(const struct moment_blocks *blocks,
                                                     uint32_t process, size_t *ret_n);

/* Saves the blocks, or loads them into new ones for at least as many processes
 * (checkpoint_io.h). */
void moment_blocks_visit(struct moment_blocks *blocks, struct checkpoint_io *io);

#endif
