/* SPDX-License-Identifier: MIT */
#include "importer/totals/chain_totals.h"

#include <stddef.h>
#include <stdlib.h>

enum {
    KEY_BYTES = offsetof(struct chain_totals_entry, chains)
};

int chain_totals_add(struct hash_map *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err)
{
    const uint32_t key[KEY_BYTES / sizeof(uint32_t)] = {chain->process, chain->first_node};
    struct chain_totals_entry *entry = hash_map_get(totals, key, KEY_BYTES, sizeof *entry);

    if (!entry)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of chains");
    entry->chains++;
    entry->leaked_chains += leaked;
    entry->reallocs += chain->length - 1;
    entry->moves += chain->moves;
    entry->copied_bytes += chain->copied_bytes;
    if (chain->length > entry->longest)
        entry->longest = chain->length;
    entry->first_bytes += chain->first_size;
    entry->last_bytes += chain->last_size;
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct chain_totals_entry *a = left;
    const struct chain_totals_entry *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->first_node > b->first_node) - (a->first_node < b->first_node);
}

void chain_totals_sort(struct hash_map *totals)
{
    if (totals->n)
        qsort(totals->elements, totals->n, sizeof(struct chain_totals_entry), compare_entries);
}

void chain_totals_visit(struct hash_map *totals, uint32_t n_processes, uint32_t n_nodes,
                        struct checkpoint_io *io)
{
    const struct chain_totals_entry *entries;

    state_keyed(io, totals, KEY_BYTES, sizeof *entries);
    entries = totals->elements;
    for (size_t i = 0; i < totals->n; i++)
        state_check(io, entries[i].process <= n_processes && entries[i].first_node <= n_nodes,
                    "totals of chains");
}
