/* SPDX-License-Identifier: MIT */
/*
 * hash_map: hash tables: a map whose elements begin with their key, and the table of ids that it is
 * made of.
 *
 * A hash_map has its elements in a dynamic array in the order of insertion. Every call passes the
 * same sizes of key and element; as constants they make hashing and comparing a few instructions.
 * Keys are compared as bytes, so their padding must be zero. An element keeps its index, but moves
 * when another one is added.
 *
 * An id_table finds ids of elements in its owner's array, which compares their content. It uses
 * open addressing over pairs (hash, id); id 0 means none. It is at most 7/8 full, so about 8 to 18
 * bytes per id.
 *
 * All zero is an empty map or table. Not thread-safe. Without memory functions return NULL or
 * ERROR_NOMEM.
 */
#ifndef MTRACE_LIB_HASH_MAP_H
#define MTRACE_LIB_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- tables of ids ---- */

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

/* ---- maps ---- */

struct hash_map {
    void *elements;
    size_t n, capacity;
    struct id_table table; /* index + 1 */
};

void hash_map_done(struct hash_map *keyed);

struct hash_map_sought {
    const char *elements;
    size_t element_bytes, key_bytes;
};

static inline bool hash_map_equals(const void *context, uint32_t id, const void *key)
{
    const struct hash_map_sought *sought = context;

    return memcmp(sought->elements + (id - 1) * sought->element_bytes, key, sought->key_bytes) == 0;
}

static inline uint64_t hash_map_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* key_bytes: a multiple of 4. */
static inline uint64_t hash_map_hash(const void *key, size_t key_bytes)
{
    const char *bytes = key;
    uint64_t hash = key_bytes;
    size_t at = 0;

    for (; at + sizeof(uint64_t) <= key_bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        hash = hash_map_mix(hash, word);
    }
    if (at < key_bytes) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof(word));
        hash = hash_map_mix(hash, word);
    }
    return hash;
}

/* NULL: the key has no element. */
static inline void *hash_map_find(const struct hash_map *keyed, const void *key, size_t key_bytes,
                                  size_t element_bytes)
{
    struct hash_map_sought sought = {keyed->elements, element_bytes, key_bytes};
    uint32_t id =
        id_table_find(&keyed->table, hash_map_hash(key, key_bytes), hash_map_equals, &sought, key);

    return id ? (char *)keyed->elements + (id - 1) * element_bytes : NULL;
}

/* Adds an element for a new key, zeroed except for the key. */
void *hash_map_add(struct hash_map *keyed, const void *key, size_t key_bytes, size_t element_bytes);

/* Returns the element of the key; adds it if there is none. */
static inline void *hash_map_get(struct hash_map *keyed, const void *key, size_t key_bytes,
                                 size_t element_bytes)
{
    void *element = hash_map_find(keyed, key, key_bytes, element_bytes);

    return element ? element : hash_map_add(keyed, key, key_bytes, element_bytes);
}

#endif
