/* SPDX-License-Identifier: MIT */
#include "lib/base/id_table.h"

#include "lib/base/error.h"

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
