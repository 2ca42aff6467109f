/* SPDX-License-Identifier: MIT */
/*
 * chain_totals: sums of realloc chains by process and first stack.
 *
 * The sums are a hash map of chain_totals_entry.
 *
 * Invariants
 *   CT-1 A key has one entry.
 *   CT-2 Nothing is added after chain_totals_sort.
 *
 * Threads: one at a time.
 * Errors: memory.
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

/* leaked: its last block was never freed, and not lost in an exec. */
int chain_totals_add(struct hash_map *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err);

/* Sorts the entries by key. */
void chain_totals_sort(struct hash_map *totals);

/* Saves the sums, or loads them into an empty map (checkpoint_io.h). */
void chain_totals_visit(struct hash_map *totals, uint32_t n_processes, uint32_t n_nodes,
                        struct checkpoint_io *io);

#endif
