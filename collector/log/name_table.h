/* SPDX-License-Identifier: MIT */
/*
 * name_table: ids for names of the program.
 *
 * A name is a text: of a group with its tags, of a marker, a phase or a pool. It gets the next id
 * and is never moved. Interned ids are in lists of hash buckets. A text is written into the log
 * when an event of this log refers to it, or earlier. A fork child has the texts of its parent, but
 * a log of its own.
 *
 * Invariants
 *   NT-1 An id is returned only after its text is complete.
 *   NT-2 After name_table_define returned true, the log of this process has the definition.
 *   NT-3 Ids are never reused. An id that lost a race for its text names nothing.
 *   NT-4 An id takes 32 bytes and its text, in pages that fork children share.
 *
 * Threads: any, no lock. Async-signal-safe and reentrant. On failure 0 or false.
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
    NAME_TABLE_MAX_BYTES = 8000, /* of a text */
};

struct name_entry;

/* Separate from struct name_table, so that the library file does not contain the zeros. */
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

/* Adds the text with a new id. 0: no memory, or no id left. */
uint32_t name_table_add(struct name_table *table, const char *text, size_t text_bytes);

/* The id of an equal text that this function added before, or a new one. */
uint32_t name_table_intern(struct name_table *table, const char *text, size_t text_bytes);

/* One more than the highest id given. */
static inline uint32_t name_table_count(const struct name_table *table)
{
    return atomic_load_explicit(&table->next_id, memory_order_relaxed);
}

/* How many of the ids name nothing. */
static inline uint32_t name_table_count_lost(const struct name_table *table)
{
    return atomic_load_explicit(&table->n_lost, memory_order_relaxed);
}

/* Writes the definition into the log of this process, once. generation: see state.h. */
bool name_table_define(struct name_table *table, uint32_t id, uint64_t generation);

#endif
