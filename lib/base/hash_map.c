/* SPDX-License-Identifier: MIT */
#include "lib/base/hash_map.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>

void hash_map_done(struct hash_map *keyed)
{
    free(keyed->elements);
    id_table_done(&keyed->table);
    *keyed = (struct hash_map){0};
}

void *hash_map_add(struct hash_map *keyed, const void *key, size_t key_bytes, size_t element_bytes)
{
    void *elements =
        keyed->n < UINT32_MAX - 1
            ? dynamic_array_reserve(keyed->elements, &keyed->capacity, keyed->n + 1, element_bytes)
            : NULL;
    char *element;

    if (!elements)
        return NULL;
    keyed->elements = elements;
    if (id_table_add(&keyed->table, hash_map_hash(key, key_bytes), (uint32_t)keyed->n + 1) != 0)
        return NULL;
    element = (char *)elements + keyed->n++ * element_bytes;
    memcpy(element, key, key_bytes);
    return element;
}
