/* SPDX-License-Identifier: MIT */
/*
 * hash_map: a hash map whose elements begin with their key.
 *
 * Elements are in a dynamic array in the order of insertion; an id_table maps hashes to their indexes.
 * A zeroed struct is an empty map. Every call passes the same sizes of key and element; as constants
 * they make hashing and comparing a few instructions.
 * Keys are compared as bytes, so their padding must be zero. An element keeps its index, but moves when
 * another one is added. Not thread-safe. Without memory functions return NULL.
 */
#ifndef MTRACE_LIB_HASH_MAP_H
#define MTRACE_LIB_HASH_MAP_H

#include "lib/base/id_table.h"

#include <string.h>

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
