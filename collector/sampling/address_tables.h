/* SPDX-License-Identifier: MIT */
/*
 * address_tables: tables of places for what has an address, which grow without moving anything.
 *
 * Model:   each table has buckets of ADDRESS_TABLES_PLACES places and is twice as large as the one before; an address leads to one bucket
 *          in each. What a place is, how it is taken, and in which order tables are looked at is the caller's business.
 * Invariants
 *   AT-1 A table that is there stays, at its address, in fork children, too. There is none behind one that is not there.
 *   AT-2 Who crowd in one bucket are apart in the next table.
 * Threads: any, without locks. Signals: safe. Failure: no memory, and there is no table more.
 */
#ifndef MTRACE_COLLECTOR_ADDRESS_TABLES_H
#define MTRACE_COLLECTOR_ADDRESS_TABLES_H

#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADDRESS_TABLES_PLACES = 8,
    ADDRESS_TABLES_FIRST_BUCKETS_LOG2 = 9,
    ADDRESS_TABLES_MOST = 28,
};

/* All zero: none. */
struct address_tables {
    void *_Atomic tables[ADDRESS_TABLES_MOST];
};

/* The table must be there, or places are NULL. */
static inline void *address_tables_places(struct address_tables *tables, unsigned table)
{
    return atomic_load_explicit(&tables->tables[table], memory_order_acquire);
}

/* The index of the first place of the bucket. */
static inline size_t address_tables_bucket(unsigned table, uintptr_t address)
{
    uint64_t hash = ((uint64_t)address >> 3) * (0x9e3779b97f4a7c15u + ((uint64_t)table << 33));

    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    return (size_t)(hash >> (64 - ADDRESS_TABLES_FIRST_BUCKETS_LOG2 - table))
           * ADDRESS_TABLES_PLACES;
}

/* The table, the first that is not there. Two who both want it make one, and the second finds it there. */
MTRACE_NODISCARD bool address_tables_add(struct address_tables *tables, unsigned table,
                                         size_t place_bytes);

#endif
