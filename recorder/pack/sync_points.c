/* SPDX-License-Identifier: MIT */
#include "recorder/pack/sync_points.h"

#include "lib/abi/log_format.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

void sync_points_done(struct sync_points *sync_points)
{
    free(sync_points->ticks);
    *sync_points = (struct sync_points){.ticks = NULL};
}

bool sync_points_is_of(unsigned kind)
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
static size_t find(const struct sync_points *sync_points, uint64_t ticks)
{
    size_t first = 0;
    size_t end = sync_points->n;

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (sync_points->ticks[middle] < ticks)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

bool sync_points_add(struct sync_points *sync_points, uint64_t ticks)
{
    uint64_t *all = dynamic_array_reserve(sync_points->ticks, &sync_points->capacity,
                                          sync_points->n + 1, sizeof(*sync_points->ticks));

    if (!all)
        return false;
    sync_points->ticks = all;
    all[sync_points->n++] = ticks;
    return true;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts points added since, and removes duplicates. */
static void put_in_order(struct sync_points *sync_points)
{
    uint64_t *all = sync_points->ticks;
    uint64_t first = UINT64_MAX;
    size_t n_all = sync_points->n;

    if (sync_points->n_sorted == n_all)
        return;
    for (size_t i = sync_points->n_sorted; i < n_all; i++)
        first = all[i] < first ? all[i] : first;
    sync_points->n = sync_points->n_sorted;
    size_t n = find(sync_points, first);
    qsort(all + n, n_all - n, sizeof(*all), compare);
    for (size_t i = n; i < n_all; i++)
        if (n == 0 || all[i] != all[n - 1])
            all[n++] = all[i];
    sync_points->n = sync_points->n_sorted = n;
}

uint64_t sync_points_next(struct sync_points *sync_points, uint64_t ticks)
{
    put_in_order(sync_points);
    size_t at = find(sync_points, ticks);

    return at < sync_points->n ? sync_points->ticks[at] : UINT64_MAX;
}

void sync_points_forget(struct sync_points *sync_points, uint64_t before_ticks)
{
    put_in_order(sync_points);
    size_t n = find(sync_points, before_ticks);

    if (n == 0)
        return;
    sync_points->n -= n;
    sync_points->n_sorted = sync_points->n;
    memmove(sync_points->ticks, sync_points->ticks + n,
            sync_points->n * sizeof(*sync_points->ticks));
}
