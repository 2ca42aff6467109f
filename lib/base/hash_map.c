/* SPDX-License-Identifier: MIT */
#include "lib/base/hash_map.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables of ids ---- */

enum {
    FIRST_SLOTS = 64
};

void id_table_done(struct id_table *table)
{
    free(table->slots);
    memset(table, 0, sizeof(*table));
}

static void put(struct id_table *table, struct id_table_slot entry)
{
    size_t mask = table->n_slots - 1;
    size_t i = entry.hash & mask;

    while (table->slots[i].id != 0)
        i = (i + 1) & mask;
    table->slots[i] = entry;
}

static int grow(struct id_table *table)
{
    struct id_table bigger = {.n_slots = table->n_slots ? table->n_slots * 2 : FIRST_SLOTS,
                              .n_ids = table->n_ids};

    bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
    if (!bigger.slots)
        return ERROR_NOMEM;
    for (size_t i = 0; i < table->n_slots; i++)
        if (table->slots[i].id != 0)
            put(&bigger, table->slots[i]);
    free(table->slots);
    *table = bigger;
    return 0;
}

int id_table_add(struct id_table *table, uint64_t hash, uint32_t id)
{
    if (table->n_ids + 1 > table->n_slots / 8 * 7 && grow(table) != 0)
        return ERROR_NOMEM;
    put(table, (struct id_table_slot){.hash = (uint32_t)hash, .id = id});
    table->n_ids++;
    return 0;
}

/* ---- maps ---- */

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
