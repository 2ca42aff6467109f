/* SPDX-License-Identifier: MIT */
#include "importer/log/id_table.h"

#include "support/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SLOTS = 64
};

void id_table_done(struct id_table *table)
{
    free(table->slots);
    memset(table, 0, sizeof(*table));
}

uint64_t id_table_hash(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b >> 32) ^ (b << 32)) * 0x9e3779b97f4a7c15u + b;

    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 29)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

uint32_t id_table_find(const struct id_table *table, uint64_t hash, id_table_equal_fn *is_equal,
                       const void *context, const void *key)
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
