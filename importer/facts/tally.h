/* SPDX-License-Identifier: MIT */
/*
 * tally: blocks and bytes counted by a key of three ids: who frees what, which thread frees whose.
 *
 * Model:   a keyed array of tally_entry, 32 bytes each and 16 at most to find it.
 * Invariants: TA-1 a key has one entry.
 * Threads: none.
 * Failure: tally_add only: memory.
 */
#ifndef MTRACE_IMPORTER_TALLY_H
#define MTRACE_IMPORTER_TALLY_H

#include "support/error.h"
#include "support/keyed.h"

#include <stdint.h>

struct tally_entry {
    uint32_t process;
    uint32_t from;
    uint32_t to;
    uint32_t reserved; /* 0 */
    uint64_t blocks;
    uint64_t bytes;
};

int tally_add(struct keyed *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
              uint64_t bytes, struct error *err);

/* Puts the entries in order of their key; nothing can be added afterwards. */
void tally_sort(struct keyed *tally);

#endif
