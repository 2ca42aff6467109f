/* SPDX-License-Identifier: MIT */
/*
 * chain_totals: realloc chains summed up by process and the stack where they began.
 *
 * Model:   a keyed array of chain_totals_entry, one per stack that begins chains.
 * Invariants: CT-1 an entry per key; CT-2 chain_totals_sort ends the counting.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_CHAIN_TOTALS_H
#define MTRACE_IMPORTER_CHAIN_TOTALS_H

#include "importer/log/checkpoint_io.h"
#include "importer/pairing/pairing.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"

#include <stdbool.h>
#include <stdint.h>

struct chain_totals_entry {
    uint32_t process;
    uint32_t first_node;
    uint64_t chains, leaked_chains;
    uint64_t reallocs, moves, copied_bytes;
    uint64_t longest;
    uint64_t first_bytes, last_bytes;
};

/* leaked: its last block never ended, and not because of an exec. */
int chain_totals_add(struct hash_map *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err);

/* Puts the entries in order of their key. */
void chain_totals_sort(struct hash_map *totals);

/* Into the bytes or from them, into those of nothing (checkpoint_io.h). */
void chain_totals_visit(struct hash_map *totals, uint32_t n_processes, uint32_t n_nodes,
                        struct checkpoint_io *io);

#endif
