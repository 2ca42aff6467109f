/* SPDX-License-Identifier: MIT */
#include "importer/totals/tally.h"

#include "lib/base/growing.h"

#include <stddef.h>
#include <stdlib.h>

enum {
    KEY_BYTES = offsetof(struct tally_entry, blocks)
};

static int out_of_memory(const struct keyed *tally, struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory for %zu pairs of stacks or threads",
                     tally->n);
}

int tally_add(struct keyed *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
              uint64_t bytes, struct error *err)
{
    const uint32_t key[KEY_BYTES / sizeof(uint32_t)] = {process, from, to};
    struct tally_entry *entry = keyed_get(tally, key, KEY_BYTES, sizeof *entry);

    if (!entry)
        return out_of_memory(tally, err);
    entry->blocks += blocks;
    entry->bytes += bytes;
    return 0;
}

int tally_append(struct keyed *tally, uint32_t process, uint32_t from, uint32_t to, uint64_t blocks,
                 uint64_t bytes, struct error *err)
{
    struct tally_entry *entries =
        growing_reserve(tally->elements, &tally->capacity, tally->n + 1, sizeof *entries);

    if (!entries)
        return out_of_memory(tally, err);
    tally->elements = entries;
    entries[tally->n++] = (struct tally_entry){
        .process = process, .from = from, .to = to, .blocks = blocks, .bytes = bytes};
    return 0;
}

const struct tally_entry *tally_find(const struct keyed *tally, uint32_t process, uint32_t from,
                                     uint32_t to)
{
    const uint32_t key[KEY_BYTES / sizeof(uint32_t)] = {process, from, to};

    return keyed_find(tally, key, KEY_BYTES, sizeof(struct tally_entry));
}

int tally_flush(struct keyed *tally, struct tally_run *run, uint32_t from, struct error *err)
{
    struct tally_run all = *run;

    *run = (struct tally_run){0};
    return all.blocks ? tally_add(tally, all.process, from, all.to, all.blocks, all.bytes, err) : 0;
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

void tally_sort(struct keyed *tally)
{
    if (tally->n)
        qsort(tally->elements, tally->n, sizeof(struct tally_entry), compare_entries);
}

void tally_visit(struct keyed *tally, uint32_t n_processes, uint32_t most, struct state_io *io)
{
    const struct tally_entry *entries;

    state_keyed(io, tally, KEY_BYTES, sizeof *entries);
    entries = tally->elements;
    for (size_t i = 0; i < tally->n; i++)
        state_check(io,
                    entries[i].process <= n_processes && entries[i].from <= most
                        && entries[i].to <= most,
                    "a tally");
}
