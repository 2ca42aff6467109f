/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_sums.h"

#include "support/saturating.h"

#include <stdlib.h>
#include <string.h>

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
    free(sums->births);
    free(sums->frees);
    free(sums->slots);
}

void row_sums_expect(const struct row_sums *sums, uint32_t process, size_t backtrace)
{
    const uint32_t *places = sums->places[process];
    uint32_t place = places && backtrace < sums->n_backtraces ? places[backtrace] : 0;

    if (place) {
        const char *sum = (const char *)&sums->births[place - 1];
        for (size_t at = 0; at < USUAL_LINES; at++)
            __builtin_prefetch(sum + at * CACHE_LINE, 1);
    }
}

/* ---- sums by birth ---- */

static struct row_sum *add_birth_sum(struct row_sums *sums, uint32_t process, uint32_t backtrace)
{
    if (sums->n_births == sums->births_capacity) {
        size_t capacity = sums->births_capacity ? 2 * sums->births_capacity : 256;
        struct row_sum *list = aligned_alloc(CACHE_LINE, capacity * sizeof(*list));
        if (!list)
            return NULL;
        if (sums->births)
            memcpy(list, sums->births, sums->n_births * sizeof(*list));
        free(sums->births);
        sums->births = list;
        sums->births_capacity = capacity;
    }
    sums->births[sums->n_births] = (struct row_sum){.process = process,
                                                    .backtrace = backtrace,
                                                    .leaked_first_ns = INT64_MAX,
                                                    .first_ns = INT64_MAX,
                                                    .min_size_bytes = INT64_MAX};
    return &sums->births[sums->n_births++];
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
        return &sums->births[places[backtrace] - 1];
    sum = add_birth_sum(sums, process, backtrace);
    if (sum)
        places[backtrace] = (uint32_t)sums->n_births;
    return sum;
}

/* ---- sums by birth and free ---- */

static size_t hash(const struct free_sum *pair)
{
    uint64_t h = pair->backtrace * UINT64_C(0x9e3779b97f4a7c15);

    h ^= (pair->free_backtrace + UINT64_C(1)) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h ^= pair->process * UINT64_C(0x165667b19e3779f9);
    return (size_t)(h ^ (h >> 29));
}

static bool is_same(const struct free_sum *a, const struct free_sum *b)
{
    return a->backtrace == b->backtrace && a->free_backtrace == b->free_backtrace
           && a->process == b->process;
}

static bool grow_slots(struct row_sums *sums)
{
    size_t n_slots = sums->slots ? 2 * (sums->mask + 1) : 1024;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < sums->n_frees; i++) {
        size_t at = hash(&sums->frees[i]) & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(sums->slots);
    sums->slots = slots;
    sums->mask = n_slots - 1;
    return true;
}

static bool append_free_sum(struct row_sums *sums, const struct free_sum *pair, size_t slot)
{
    if (sums->n_frees == sums->frees_capacity) {
        size_t capacity = sums->frees_capacity ? 2 * sums->frees_capacity : 256;
        struct free_sum *list = reallocarray(sums->frees, capacity, sizeof(*list));
        if (!list)
            return false;
        sums->frees = list;
        sums->frees_capacity = capacity;
    }
    sums->frees[sums->n_frees] = *pair;
    sums->slots[slot] = (uint32_t)++sums->n_frees;
    return true;
}

/* Index + 1 of the pair's sum, made when it is new; 0: no memory. */
static uint32_t get_free_sum(struct row_sums *sums, const struct free_sum *pair)
{
    size_t at;

    if ((!sums->slots || 2 * sums->n_frees > sums->mask) && !grow_slots(sums))
        return 0;
    for (at = hash(pair) & sums->mask; sums->slots[at]; at = (at + 1) & sums->mask) {
        if (is_same(&sums->frees[sums->slots[at] - 1], pair))
            return sums->slots[at];
    }
    return append_free_sum(sums, pair, at) ? (uint32_t)sums->n_frees : 0;
}

/* What a sum counted for its pair goes into the table. */
static bool flush_free(struct row_sums *sums, struct row_sum *sum)
{
    struct free_sum pair = {sum->process, sum->backtrace, sum->free_backtrace, 0, 0};
    uint32_t place;

    if (sum->free_blocks == 0)
        return true;
    place = get_free_sum(sums, &pair);
    if (!place)
        return false;
    saturating_grow(&sums->frees[place - 1].blocks, sum->free_blocks);
    saturating_grow(&sums->frees[place - 1].bytes, sum->free_bytes);
    sum->free_blocks = 0;
    sum->free_bytes = 0;
    return true;
}

bool row_sums_add_free(struct row_sums *sums, struct row_sum *sum, uint32_t free_backtrace,
                       int64_t size_bytes)
{
    if (sum->free_backtrace != free_backtrace && !flush_free(sums, sum))
        return false;
    sum->free_backtrace = free_backtrace;
    sum->free_blocks++;
    saturating_grow(&sum->free_bytes, size_bytes);
    return true;
}

/* ---- order ---- */

static int compare_frees(const void *left, const void *right)
{
    const struct free_sum *a = left;
    const struct free_sum *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->backtrace != b->backtrace)
        return a->backtrace < b->backtrace ? -1 : 1;
    return (a->free_backtrace > b->free_backtrace) - (a->free_backtrace < b->free_backtrace);
}

static int compare_births(const void *left, const void *right)
{
    const struct row_sum *a = left;
    const struct row_sum *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->backtrace > b->backtrace) - (a->backtrace < b->backtrace);
}

bool row_sums_finish(struct row_sums *sums)
{
    for (size_t i = 0; i < sums->n_births; i++) {
        if (!flush_free(sums, &sums->births[i]))
            return false;
    }
    if (sums->n_births > 0)
        qsort(sums->births, sums->n_births, sizeof(*sums->births), compare_births);
    if (sums->n_frees > 0)
        qsort(sums->frees, sums->n_frees, sizeof(*sums->frees), compare_frees);
    return true;
}
