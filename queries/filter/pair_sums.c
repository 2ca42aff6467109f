/* SPDX-License-Identifier: MIT */
#include "queries/filter/pair_sums.h"

#include "support/saturating.h"

#include <stdlib.h>

static size_t hash(const struct pair_sum *key)
{
    uint64_t h = key->backtrace * UINT64_C(0x9e3779b97f4a7c15);

    h ^= (key->other + UINT64_C(1)) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h ^= key->process * UINT64_C(0x165667b19e3779f9);
    return (size_t)(h ^ (h >> 29));
}

static bool is_same(const struct pair_sum *a, const struct pair_sum *b)
{
    return a->backtrace == b->backtrace && a->other == b->other && a->process == b->process;
}

static bool grow_slots(struct pair_sums *sums)
{
    size_t n_slots = sums->slots ? 2 * (sums->mask + 1) : 1024;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < sums->n; i++) {
        size_t at = hash(&sums->list[i]) & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(sums->slots);
    sums->slots = slots;
    sums->mask = n_slots - 1;
    return true;
}

static bool append(struct pair_sums *sums, const struct pair_sum *what, size_t slot)
{
    if (sums->n == sums->capacity) {
        size_t capacity = sums->capacity ? 2 * sums->capacity : 256;
        struct pair_sum *list = reallocarray(sums->list, capacity, sizeof(*list));
        if (!list)
            return false;
        sums->list = list;
        sums->capacity = capacity;
    }
    sums->list[sums->n] = *what;
    sums->slots[slot] = (uint32_t)++sums->n;
    return true;
}

bool pair_sums_add(struct pair_sums *sums, const struct pair_sum *what)
{
    size_t at;

    if ((!sums->slots || 2 * sums->n > sums->mask) && !grow_slots(sums))
        return false;
    for (at = hash(what) & sums->mask; sums->slots[at]; at = (at + 1) & sums->mask) {
        struct pair_sum *sum = &sums->list[sums->slots[at] - 1];

        if (is_same(sum, what)) {
            sum->blocks += what->blocks;
            saturating_grow(&sum->bytes, what->bytes);
            return true;
        }
    }
    return append(sums, what, at);
}

static int compare(const void *left, const void *right)
{
    const struct pair_sum *a = left;
    const struct pair_sum *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->backtrace != b->backtrace)
        return a->backtrace < b->backtrace ? -1 : 1;
    return (a->other > b->other) - (a->other < b->other);
}

void pair_sums_sort(struct pair_sums *sums)
{
    if (sums->n > 0)
        qsort(sums->list, sums->n, sizeof(*sums->list), compare);
}

void pair_sums_done(struct pair_sums *sums)
{
    free(sums->list);
    free(sums->slots);
    *sums = (struct pair_sums){0};
}
