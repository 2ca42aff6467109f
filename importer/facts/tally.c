/* SPDX-License-Identifier: MIT */
#include "importer/facts/tally.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_SLOTS = 64
};

void tally_init(struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
}

void tally_done(struct tally *tally)
{
    free(tally->entries);
    tally_init(tally);
}

/* The entry of the key, or the empty slot where it belongs. */
static struct tally_entry *find_slot(struct tally_entry *entries, size_t n_slots, uint32_t process,
                                     uint32_t from, uint32_t to)
{
    uint64_t hash = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15) + process;
    size_t i = (size_t)((hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93) >> 32);

    for (i &= n_slots - 1;; i = (i + 1) & (n_slots - 1)) {
        struct tally_entry *entry = &entries[i];
        if (entry->process == 0
            || (entry->process == process && entry->from == from && entry->to == to))
            return entry;
    }
}

static int grow(struct tally *tally, struct error *err)
{
    size_t n_slots = tally->n_slots ? tally->n_slots * 2 : MIN_SLOTS;
    struct tally_entry *entries = calloc(n_slots, sizeof *entries);

    if (!entries)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu pairs of stacks or threads",
                         n_slots);
    for (size_t i = 0; i < tally->n_slots; i++) {
        const struct tally_entry *entry = &tally->entries[i];
        if (entry->process)
            *find_slot(entries, n_slots, entry->process, entry->from, entry->to) = *entry;
    }
    free(tally->entries);
    tally->entries = entries;
    tally->n_slots = n_slots;
    return 0;
}

int tally_add(struct tally *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
              uint64_t bytes, struct error *err)
{
    if (tally->n_entries * 4 >= tally->n_slots * 3) {
        int code = grow(tally, err);
        if (code)
            return code;
    }
    struct tally_entry *entry = find_slot(tally->entries, tally->n_slots, process, from, to);
    if (entry->process == 0) {
        entry->process = process;
        entry->from = from;
        entry->to = to;
        tally->n_entries++;
    }
    entry->blocks += blocks;
    entry->bytes += bytes;
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct tally_entry *a = left;
    const struct tally_entry *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

void tally_sort(struct tally *tally)
{
    size_t n = 0;

    for (size_t i = 0; i < tally->n_slots; i++) {
        if (tally->entries[i].process)
            tally->entries[n++] = tally->entries[i];
    }
    if (n)
        qsort(tally->entries, n, sizeof *tally->entries, compare_entries);
}
