/* SPDX-License-Identifier: MIT */
#include "lib/totals/pair_totals.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>

static int out_of_memory(const struct hash_map *tally, struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory for %zu pairs of stacks or threads",
                     tally->n);
}

int pair_totals_add(struct hash_map *tally, uint32_t process, uint32_t from, uint32_t to,
                    uint64_t blocks, uint64_t bytes, struct error *err)
{
    const uint32_t key[PAIR_TOTALS_KEY_BYTES / sizeof(uint32_t)] = {process, from, to};
    struct pair_totals_entry *entry =
        hash_map_get(tally, key, PAIR_TOTALS_KEY_BYTES, sizeof *entry);

    if (!entry)
        return out_of_memory(tally, err);
    entry->blocks += blocks;
    entry->bytes += bytes;
    return 0;
}

int pair_totals_append(struct hash_map *tally, uint32_t process, uint32_t from, uint32_t to,
                       uint64_t blocks, uint64_t bytes, struct error *err)
{
    struct pair_totals_entry *entries =
        dynamic_array_reserve(tally->elements, &tally->capacity, tally->n + 1, sizeof *entries);

    if (!entries)
        return out_of_memory(tally, err);
    tally->elements = entries;
    entries[tally->n++] = (struct pair_totals_entry){
        .process = process, .from = from, .to = to, .blocks = blocks, .bytes = bytes};
    return 0;
}

const struct pair_totals_entry *pair_totals_find(const struct hash_map *tally, uint32_t process,
                                                 uint32_t from, uint32_t to)
{
    const uint32_t key[PAIR_TOTALS_KEY_BYTES / sizeof(uint32_t)] = {process, from, to};

    return hash_map_find(tally, key, PAIR_TOTALS_KEY_BYTES, sizeof(struct pair_totals_entry));
}

int pair_totals_flush(struct hash_map *tally, struct pair_totals_run *run, uint32_t from,
                      struct error *err)
{
    struct pair_totals_run all = *run;

    *run = (struct pair_totals_run){0};
    return all.blocks
               ? pair_totals_add(tally, all.process, from, all.to, all.blocks, all.bytes, err)
               : 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct pair_totals_entry *a = left;
    const struct pair_totals_entry *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

void pair_totals_sort(struct hash_map *tally)
{
    if (tally->n)
        qsort(tally->elements, tally->n, sizeof(struct pair_totals_entry), compare_entries);
}
