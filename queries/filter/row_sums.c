/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_sums.h"

#include "lib/base/saturating.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAIR_KEY_BYTES = 3 * sizeof(uint32_t)
};

bool pair_sums_add(struct hash_map *sums, const struct pair_sum *what)
{
    struct pair_sum *sum = hash_map_get(sums, what, PAIR_KEY_BYTES, sizeof(*what));

    if (!sum)
        return false;
    sum->blocks += what->blocks;
    saturating_grow(&sum->bytes, what->bytes);
    return true;
}

static int compare_pairs(const void *left, const void *right)
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
        qsort(sums->elements, sums->n, sizeof(struct pair_sum), compare_pairs);
}

enum {
    CACHE_LINE = 64,
    USUAL_LINES = 2
};

_Static_assert(sizeof(struct row_sum) == (size_t)3 * CACHE_LINE,
               "sums begin with a line of the cache");

bool row_sums_init(struct row_sums *sums, size_t n_processes, size_t n_backtraces)
{
    *sums = (struct row_sums){.n_processes = n_processes, .n_backtraces = n_backtraces};
    sums->places = calloc(n_processes, sizeof(*sums->places));
    return sums->places != NULL;
}

void row_sums_done(struct row_sums *sums)
{
    for (size_t i = 0; sums->places && i < sums->n_processes; i++)
        free(sums->places[i]);
    free(sums->places);
    free(sums->allocations);
    hash_map_done(&sums->frees);
    hash_map_done(&sums->leaks);
}

void row_sums_expect(const struct row_sums *sums, uint32_t process, size_t backtrace)
{
    const uint32_t *places = sums->places[process];
    uint32_t place = places && backtrace < sums->n_backtraces ? places[backtrace] : 0;

    if (place) {
        const char *sum = (const char *)&sums->allocations[place - 1];
        for (size_t at = 0; at < USUAL_LINES; at++)
            __builtin_prefetch(sum + at * CACHE_LINE, 1);
    }
}

/* ---- sums by allocation ---- */

static struct row_sum *add_allocation_sum(struct row_sums *sums, uint32_t process,
                                          uint32_t backtrace)
{
    if (sums->n_allocations == sums->allocations_capacity) {
        size_t capacity = sums->allocations_capacity ? 2 * sums->allocations_capacity : 256;
        struct row_sum *list = aligned_alloc(CACHE_LINE, capacity * sizeof(*list));
        if (!list)
            return NULL;
        if (sums->allocations)
            memcpy(list, sums->allocations, sums->n_allocations * sizeof(*list));
        free(sums->allocations);
        sums->allocations = list;
        sums->allocations_capacity = capacity;
    }
    sums->allocations[sums->n_allocations] = (struct row_sum){.process = process,
                                                              .backtrace = backtrace,
                                                              .place = sums->n_allocations,
                                                              .leaked_first_ns = INT64_MAX,
                                                              .first_ns = INT64_MAX,
                                                              .min_size_bytes = INT64_MAX};
    return &sums->allocations[sums->n_allocations++];
}

struct row_sum *row_sums_get(struct row_sums *sums, uint32_t process, uint32_t backtrace)
{
    uint32_t *places = sums->places[process];
    struct row_sum *sum;

    if (!places) {
        places = calloc(sums->n_backtraces, sizeof(*places));
        if (!places)
            return NULL;
        sums->places[process] = places;
    }
    if (places[backtrace])
        return &sums->allocations[places[backtrace] - 1];
    sum = add_allocation_sum(sums, process, backtrace);
    if (sum)
        places[backtrace] = (uint32_t)sums->n_allocations;
    return sum;
}

/* ---- sums by allocation and free ---- */

/* Flushes the counts of a sum's current pair to the table. */
static bool flush_free(struct row_sums *sums, struct row_sum *sum)
{
    const struct pair_sum pair = {sum->process, sum->backtrace, sum->free_backtrace,
                                  sum->free_blocks, sum->free_bytes};

    sum->free_blocks = 0;
    sum->free_bytes = 0;
    return pair.blocks == 0 || pair_sums_add(&sums->frees, &pair);
}

bool row_sums_add_free(struct row_sums *sums, struct row_sum *sum, uint32_t free_backtrace,
                       const struct scanned_row *row)
{
    if (sum->free_backtrace != free_backtrace && !flush_free(sums, sum))
        return false;
    sum->free_backtrace = free_backtrace;
    sum->free_blocks += row->blocks;
    saturating_grow(&sum->free_bytes, row->bytes);
    return true;
}

bool row_sums_add_leak(struct row_sums *sums, const struct row_sum *sum, uint32_t part,
                       const struct scanned_row *row)
{
    return pair_sums_add(&sums->leaks, &(const struct pair_sum){sum->process, sum->backtrace, part,
                                                                row->blocks, row->bytes});
}

/* ---- order ---- */

static int compare_allocations(const void *left, const void *right)
{
    const struct row_sum *a = left;
    const struct row_sum *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->backtrace > b->backtrace) - (a->backtrace < b->backtrace);
}

bool row_sums_finish(struct row_sums *sums)
{
    for (size_t i = 0; i < sums->n_allocations; i++) {
        if (!flush_free(sums, &sums->allocations[i]))
            return false;
    }
    if (sums->n_allocations > 0)
        qsort(sums->allocations, sums->n_allocations, sizeof(*sums->allocations),
              compare_allocations);
    pair_sums_sort(&sums->frees);
    pair_sums_sort(&sums->leaks);
    return true;
}
