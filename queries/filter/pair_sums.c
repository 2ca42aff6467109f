/* SPDX-License-Identifier: MIT */
#include "queries/filter/pair_sums.h"

#include "lib/base/saturating.h"

#include <stdlib.h>

enum {
    KEY_BYTES = 3 * sizeof(uint32_t)
};

bool pair_sums_add(struct hash_map *sums, const struct pair_sum *what)
{
    struct pair_sum *sum = hash_map_get(sums, what, KEY_BYTES, sizeof(*what));

    if (!sum)
        return false;
    sum->blocks += what->blocks;
    saturating_grow(&sum->bytes, what->bytes);
    return true;
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

void pair_sums_sort(struct hash_map *sums)
{
    if (sums->n > 0)
        qsort(sums->elements, sums->n, sizeof(struct pair_sum), compare);
}
