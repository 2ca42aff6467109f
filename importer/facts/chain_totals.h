/* SPDX-License-Identifier: MIT */
/*
 * chain_totals: realloc chains summed up by process and the stack where they began.
 *
 * Model:   open addressing, doubled at 3/4; one entry per stack that begins chains.
 * Invariants: CT-1 an entry per key; CT-2 chain_totals_sort ends the counting.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_CHAIN_TOTALS_H
#define MTRACE_IMPORTER_CHAIN_TOTALS_H

#include "importer/pairing/pairing.h"
#include "support/error.h"

#include <stddef.h>
#include <stdint.h>

struct chain_totals_entry {
    uint32_t process; /* 0: the slot is empty */
    uint32_t first_node;
    uint64_t chains, leaked_chains;
    uint64_t reallocs, moves, copied_bytes;
    uint64_t longest;
    uint64_t first_bytes, last_bytes;
};

struct chain_totals {
    struct chain_totals_entry *entries;
    size_t n_slots, n_entries;
};

/* NULL on lack of memory. */
struct chain_totals *chain_totals_new(void);

/* NULL is fine. */
void chain_totals_free(struct chain_totals *totals);

/* leaked: its last block never ended, and not because of an exec. */
int chain_totals_add(struct chain_totals *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err);

/* Puts the entries first, in order of their key. */
void chain_totals_sort(struct chain_totals *totals);

#endif
