/* SPDX-License-Identifier: MIT */
/*
 * name_table: texts that the program gave a number: names of groups with their tags, of markers and
 * of phases.
 *
 * Model:   a text gets the next id and stays where it was put; ids found again by their text hang
 *          in lists of buckets. It is written into the log when an event of this log is about to
 *          name it, or earlier: a fork child has the texts of its parent, and a log of its own.
 * Invariants
 *   NT-1 An id is given to nobody before its text is whole.
 *   NT-2 name_table_define returned true: the definition was committed in the log of this process.
 *   NT-3 Ids are never given again. One that lost a race for its text names nothing.
 *   NT-4 Memory: 32 bytes and the text per id, in pages that fork children share.
 * Threads: any, no lock. Signals: safe, also nested. Failure: 0, or false.
 */
#ifndef MTRACE_COLLECTOR_NAME_TABLE_H
#define MTRACE_COLLECTOR_NAME_TABLE_H

#include "lib/abi/log_format.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NAME_TABLE_CHUNK = 4096,  /* ids of a chunk */
    NAME_TABLE_CHUNKS = 4096, /* of a table: 2^24 ids */
    NAME_TABLE_BUCKETS = 1 << 16,
    NAME_TABLE_MOST_BYTES = 8000, /* of a text */
};

struct name_entry;

/* Apart from what has a value from the start, so that no library file must hold all the zeros. */
struct name_store {
    _Atomic(struct name_entry *) chunks[NAME_TABLE_CHUNKS];
    _Atomic uint32_t buckets[NAME_TABLE_BUCKETS]; /* newest id, 0: none */
};

/* n_lost 0, the store all zero: empty. */
struct name_table {
    enum log_def_kind kind;
    _Atomic uint32_t next_id; /* first: the first id */
    _Atomic uint32_t n_lost;  /* ids that name nothing: NT-3 */
    struct name_store *store;
};

/* The text with a new id; 0: no memory, or no id left. */
uint32_t name_table_add(struct name_table *table, const char *text, size_t text_bytes);

/* The id of the text, a new one if it has none that was found by this function before. */
uint32_t name_table_intern(struct name_table *table, const char *text, size_t text_bytes);

/* One more than the highest id given. */
static inline uint32_t name_table_count(const struct name_table *table)
{
    return atomic_load_explicit(&table->next_id, memory_order_relaxed);
}

/* Of those, how many name nothing. */
static inline uint32_t name_table_count_lost(const struct name_table *table)
{
    return atomic_load_explicit(&table->n_lost, memory_order_relaxed);
}

/* Into the log of this process, once; generation: state.h's. */
bool name_table_define(struct name_table *table, uint32_t id, uint64_t generation);

#endif
