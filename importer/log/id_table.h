/* SPDX-License-Identifier: MIT */
/*
 * id_table: hash -> id, for things that live in an array of their owner and are found by content.
 *
 * Model:   open addressing over pairs (hash, id); the owner compares content. All zero is an empty
 *          table; id 0 is none. At most 7/8 full, so about 8 to 18 bytes per id.
 * Threads: one per table.
 */
#ifndef MTRACE_IMPORTER_ID_TABLE_H
#define MTRACE_IMPORTER_ID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_table_slot {
    uint32_t hash;
    uint32_t id;
};

struct id_table {
    struct id_table_slot *slots;
    size_t n_slots; /* a power of two, or 0 */
    size_t n_ids;
};

typedef bool id_table_equal_fn(const void *context, uint32_t id, const void *key);

void id_table_done(struct id_table *table);

/* The id whose content equals key, 0 if none does. */
uint32_t id_table_find(const struct id_table *table, uint64_t hash, id_table_equal_fn *is_equal,
                       const void *context, const void *key);

/* Adds an id that is not in the table. ERROR_NOMEM or 0. */
int id_table_add(struct id_table *table, uint64_t hash, uint32_t id);

/* Two words into a well mixed hash. */
uint64_t id_table_hash(uint64_t a, uint64_t b);

#endif
