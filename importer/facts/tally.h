/* SPDX-License-Identifier: MIT */
/*
 * tally: blocks and bytes counted by a key of three ids: who frees what, which thread frees whose.
 *
 * Model:   open addressing, doubled at 3/4; 32 bytes an entry.
 * Invariants: TA-1 a key has one entry; TA-2 an entry once made stays, entries move when it grows.
 * Threads: none.
 * Failure: tally_add only: memory.
 */
#ifndef MTRACE_IMPORTER_TALLY_H
#define MTRACE_IMPORTER_TALLY_H

#include "support/error.h"

#include <stddef.h>
#include <stdint.h>

struct tally_entry {
    uint32_t process; /* 0: the slot is empty */
    uint32_t from;
    uint32_t to;
    uint32_t reserved;
    uint64_t blocks;
    uint64_t bytes;
};

struct tally {
    struct tally_entry *entries;
    size_t n_slots;
    size_t n_entries;
};

void tally_init(struct tally *tally);
void tally_done(struct tally *tally);

/* process is not 0. */
int tally_add(struct tally *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
              uint64_t bytes, struct error *err);

/* Puts the entries first, in order of their key; the tally can only be read and done afterwards. */
void tally_sort(struct tally *tally);

#endif
