/* SPDX-License-Identifier: MIT */
#include "importer/facts/chain_totals.h"

#include <stdlib.h>

struct chain_totals *chain_totals_new(void)
{
    return calloc(1, sizeof(struct chain_totals));
}

void chain_totals_free(struct chain_totals *totals)
{
    if (totals)
        free(totals->entries);
    free(totals);
}

static struct chain_totals_entry *find_slot(struct chain_totals_entry *entries, size_t n_slots,
                                            uint32_t process, uint32_t node)
{
    uint64_t hash = ((uint64_t)process << 32 | node) * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = (size_t)(hash >> 32) & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        struct chain_totals_entry *entry = &entries[i];
        if (entry->process == 0 || (entry->process == process && entry->first_node == node))
            return entry;
    }
}

static int grow(struct chain_totals *totals, struct error *err)
{
    size_t n_slots = totals->n_slots ? totals->n_slots * 2 : 64;
    struct chain_totals_entry *entries = calloc(n_slots, sizeof *entries);

    if (!entries)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of chains");
    for (size_t i = 0; i < totals->n_slots; i++) {
        const struct chain_totals_entry *entry = &totals->entries[i];
        if (entry->process)
            *find_slot(entries, n_slots, entry->process, entry->first_node) = *entry;
    }
    free(totals->entries);
    totals->entries = entries;
    totals->n_slots = n_slots;
    return 0;
}

int chain_totals_add(struct chain_totals *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err)
{
    if (totals->n_entries * 4 >= totals->n_slots * 3) {
        int code = grow(totals, err);
        if (code)
            return code;
    }
    struct chain_totals_entry *entry =
        find_slot(totals->entries, totals->n_slots, chain->process, chain->first_node);
    if (entry->process == 0) {
        entry->process = chain->process;
        entry->first_node = chain->first_node;
        totals->n_entries++;
    }
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

void chain_totals_sort(struct chain_totals *totals)
{
    size_t n = 0;

    for (size_t i = 0; i < totals->n_slots; i++) {
        if (totals->entries[i].process)
            totals->entries[n++] = totals->entries[i];
    }
    if (n)
        qsort(totals->entries, n, sizeof *totals->entries, compare_entries);
}
