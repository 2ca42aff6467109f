/* SPDX-License-Identifier: MIT */
/*
 * address_tables: hash tables of places by address, which grow without moving anything.
 *
 * Each table has buckets of ADDRESS_TABLES_PLACES places and twice the size of the previous table.
 * An address maps to one bucket in each table. The caller decides what a place contains, how it is
 * taken, and in which order tables are searched.
 *
 * Invariants
 *   AT-1 A table stays at its address, in fork children, too. Tables are added in order, without
 *        gaps.
 *   AT-2 Addresses that share a bucket are spread over different buckets in the next table.
 *
 * Threads: any, without locks. Async-signal-safe. Without memory no table is added.
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
    ADDRESS_TABLES_MAX = 28,
};

/* All zero: no tables. */
struct address_tables {
    void *_Atomic tables[ADDRESS_TABLES_MAX];
};

/* Places of a table; NULL: the table does not exist. */
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

/* Adds table number `table`, the next one. If two threads add it at the same time, one finds it
 * there. False: no memory. */
MTRACE_NODISCARD bool address_tables_add(struct address_tables *tables, unsigned table,
                                         size_t place_bytes);

#endif
