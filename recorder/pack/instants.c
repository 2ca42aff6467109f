/* SPDX-License-Identifier: MIT */
#include "recorder/pack/instants.h"

#include "lib/abi/log_format.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

void instants_done(struct instants *instants)
{
    free(instants->ticks);
    *instants = (struct instants){.ticks = NULL};
}

bool instants_is_of(unsigned kind)
{
    switch (kind) {
    case LOG_PHASE:
    case LOG_TRACING:
    case LOG_MARK:
    case LOG_OBJECT_WALK:
    case LOG_FORK:
    case LOG_END:
        return true;
    default:
        return false;
    }
}

/* The number of points before this time. */
static size_t find(const struct instants *instants, uint64_t ticks)
{
    size_t first = 0;
    size_t end = instants->n;

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (instants->ticks[middle] < ticks)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

bool instants_add(struct instants *instants, uint64_t ticks)
{
    uint64_t *all = dynamic_array_reserve(instants->ticks, &instants->capacity, instants->n + 1,
                                          sizeof(*instants->ticks));

    if (!all)
        return false;
    instants->ticks = all;
    all[instants->n++] = ticks;
    return true;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts points added since, and removes duplicates. */
static void put_in_order(struct instants *instants)
{
    uint64_t *all = instants->ticks;
    uint64_t first = UINT64_MAX;
    size_t n_all = instants->n;

    if (instants->n_sorted == n_all)
        return;
    for (size_t i = instants->n_sorted; i < n_all; i++)
        first = all[i] < first ? all[i] : first;
    instants->n = instants->n_sorted;
    size_t n = find(instants, first);
    qsort(all + n, n_all - n, sizeof(*all), compare);
    for (size_t i = n; i < n_all; i++)
        if (n == 0 || all[i] != all[n - 1])
            all[n++] = all[i];
    instants->n = instants->n_sorted = n;
}

uint64_t instants_next(struct instants *instants, uint64_t ticks)
{
    put_in_order(instants);
    size_t at = find(instants, ticks);

    return at < instants->n ? instants->ticks[at] : UINT64_MAX;
}

void instants_forget(struct instants *instants, uint64_t before_ticks)
{
    put_in_order(instants);
    size_t n = find(instants, before_ticks);

    if (n == 0)
        return;
    instants->n -= n;
    instants->n_sorted = instants->n;
    memmove(instants->ticks, instants->ticks + n, instants->n * sizeof(*instants->ticks));
}
