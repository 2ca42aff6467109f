/* SPDX-License-Identifier: MIT */
/*
 * id_table: a hash table of ids of elements in the owner's array, found by content.
 *
 * Open addressing over pairs (hash, id); the owner compares content. All zero is an empty table; id
 * 0 means none. At most 7/8 full, so about 8 to 18 bytes per id. Not thread-safe.
 */
#ifndef MTRACE_LIB_ID_TABLE_H
#define MTRACE_LIB_ID_TABLE_H

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

/* The id whose content equals key, or 0. Inline, so that is_equal is inlined, too. */
static inline uint32_t id_table_find(const struct id_table *table, uint64_t hash,
                                     id_table_equal_fn *is_equal, const void *context,
                                     const void *key)
{
    size_t mask = table->n_slots - 1;

    if (table->n_slots == 0)
        return 0;
    for (size_t i = hash & mask; table->slots[i].id != 0; i = (i + 1) & mask) {
        const struct id_table_slot *slot = &table->slots[i];
        if (slot->hash == (uint32_t)hash && is_equal(context, slot->id, key))
            return slot->id;
    }
    return 0;
}

/* Adds an id that is not in the table. Returns 0 or ERROR_NOMEM. */
int id_table_add(struct id_table *table, uint64_t hash, uint32_t id);

/* Mixes two words into a hash. */
static inline uint64_t id_table_hash(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b >> 32) ^ (b << 32)) * 0x9e3779b97f4a7c15u + b;

    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 29)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

#endif
