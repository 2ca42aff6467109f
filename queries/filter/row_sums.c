/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_sums.h"

#include "queries/db/rundb.h"

#include <stdlib.h>
#include <string.h>

int row_sums_put_pairs(const struct rundb *database, const struct hash_map *pairs, const char *sql,
                       struct error *err)
{
    const struct pair_totals_entry *entries = pairs->elements;
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(database, sql, &insert, err);

    for (size_t i = 0; rc == 0 && i < pairs->n; i++) {
        const int64_t values[] = {entries[i].process, entries[i].from, entries[i].to,
                                  (int64_t)entries[i].blocks, (int64_t)entries[i].bytes};

        rc = rundb_insert(database, insert, values, sizeof(values) / sizeof(values[0]), err);
    }
    sqlite3_finalize(insert);
    return rc;
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

bool row_sums_add_free(struct row_sums *sums, struct row_sum *sum, uint32_t free_backtrace,
                       const struct scanned_row *row)
{
    const struct sample_weight weight = {.blocks = (uint64_t)row->blocks,
                                         .bytes = (uint64_t)row->bytes};

    return pair_totals_count(&sums->frees, &sum->freed_at, sum->process, sum->backtrace,
                             free_backtrace, &weight, NULL)
           == 0;
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
        struct row_sum *sum = &sums->allocations[i];

        if (pair_totals_flush(&sums->frees, &sum->freed_at, sum->backtrace, NULL) != 0)
            return false;
    }
    if (sums->n_allocations > 0)
        qsort(sums->allocations, sums->n_allocations, sizeof(*sums->allocations),
              compare_allocations);
    pair_totals_sort(&sums->frees);
    pair_totals_sort(&sums->leaks);
    return true;
}
