/* SPDX-License-Identifier: MIT */
/*
 * moment_blocks: which blocks were live at the peaks of processes and at their ends, without a look at any other.
 *
 * Model:   those live at the peak are the ones live at the end that were born by then, and those that ended since: these are
 *          kept in a list for each process, which a new peak empties. Whoever finishes has the live ones (pairing_next_live).
 * Invariants
 *   MB-1 With those that are live at the end it is known which blocks rows say were live at the peak; in no order.
 *   MB-2 Memory: 48 bytes for each block that was live at the peak and has ended.
 * Threads: none.
 * Failure: memory.
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
    uint32_t process, node;
    uint8_t call;
};

struct moment_blocks;

int moment_blocks_new(uint32_t n_processes, struct moment_blocks **ret, struct error *err);

/* NULL is fine. */
void moment_blocks_free(struct moment_blocks *blocks);

/* The highest instant of the process so far is over, and was at peak_ns; last_id is the id given last. To be called
 * before anything later is told. */
void moment_blocks_peak(struct moment_blocks *blocks, uint32_t process, uint64_t peak_ns,
                        uint64_t last_id);
int moment_blocks_ended(struct moment_blocks *blocks, uint32_t process,
                        const struct live_block *block, struct error *err);

/* As they are kept. */
struct moment_block moment_blocks_make(uint32_t process, const struct live_block *block);

/* Was a block that is live at the end so at the peak of the process, too? */
bool moment_blocks_was_at_peak(const struct moment_blocks *blocks, uint32_t process,
                               uint64_t allocation_id);

/* Those that were live at the peak of the process and have ended. */
const struct moment_block *moment_blocks_ended_since(const struct moment_blocks *blocks,
                                                     uint32_t process, size_t *ret_n);

/* Into the bytes or from them, into new ones that have room for as many processes (checkpoint_io.h). */
void moment_blocks_visit(struct moment_blocks *blocks, const struct statistics_room *room,
                         struct checkpoint_io *io);

#endif
