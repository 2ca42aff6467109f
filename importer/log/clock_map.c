/* SPDX-License-Identifier: MIT */
#include "importer/log/clock_map.h"

#include "support/error.h"
#include "support/growing.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide_uint;

enum {
    RATE_BITS = 32,
    MIN_RATE_NS = 20000, /* closer pairs say too little about the rate */
};

#define MAX_NS    (1ull << 58) /* nine years; keeps the fixed point inside 64 bits */
#define MAX_FIXED (MAX_NS << CLOCK_MAP_FRACTION_BITS)

void clock_map_init(struct clock_map *map, bool is_identity)
{
    memset(map, 0, sizeof(*map));
    map->is_identity = is_identity;
}

void clock_map_done(struct clock_map *map)
{
    free(map->pairs);
    free(map->knots);
    memset(map, 0, sizeof(*map));
}

int clock_map_add(struct clock_map *map, uint64_t ticks, uint64_t ns)
{
    struct clock_pair *pairs;

    if (ns == 0 || ns > MAX_NS || map->is_identity)
        return 0;
    pairs = growing_reserve(map->pairs, &map->pairs_capacity, map->n_pairs + 1, sizeof(*pairs));
    if (!pairs)
        return ERROR_NOMEM;
    map->pairs = pairs;
    map->pairs[map->n_pairs++] = (struct clock_pair){.ticks = ticks, .ns = ns};
    return 0;
}

static uint64_t rate_between(const struct clock_pair *a, const struct clock_pair *b)
{
    wide_uint rate;

    if (b->ticks <= a->ticks || b->ns <= a->ns)
        return 0;
    rate = ((wide_uint)(b->ns - a->ns) << RATE_BITS) / (b->ticks - a->ticks);
    return rate > UINT64_MAX ? 0 : (uint64_t)rate;
}

uint64_t clock_map_rate(const struct clock_map *map)
{
    const struct clock_pair *first = map->pairs;
    const struct clock_pair *last = map->pairs;

    if (map->n_pairs == 0)
        return map->rate;
    for (size_t i = 1; i < map->n_pairs; i++) {
        if (map->pairs[i].ticks < first->ticks)
            first = &map->pairs[i];
        if (map->pairs[i].ticks > last->ticks)
            last = &map->pairs[i];
    }
    if (last->ns < first->ns || last->ns - first->ns < MIN_RATE_NS)
        return 0;
    return rate_between(first, last);
}

static uint64_t scale(uint64_t ticks, uint64_t rate, unsigned fraction_bits)
{
    wide_uint ns = ((wide_uint)ticks * rate) >> (RATE_BITS - fraction_bits);
    return ns > MAX_FIXED ? MAX_FIXED : (uint64_t)ns;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct clock_pair *a = left;
    const struct clock_pair *b = right;

    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* How late the second clock was read, compared with a straight line from the first pair. */
static int64_t lateness(const struct clock_map *map, const struct clock_pair *pair)
{
    uint64_t expected = map->pairs[0].ns + scale(pair->ticks - map->pairs[0].ticks, map->rate, 0);
    return (int64_t)(pair->ns - expected);
}

/* Keeps the least late pair of each stretch, and of those only what increases in both clocks. */
static size_t thin_out(struct clock_map *map)
{
    size_t n_kept = 1;
    bool is_open = false; /* pairs[n_kept - 1] is the best so far of the current stretch */
    uint64_t stretch_end = map->pairs[0].ns + CLOCK_MAP_STRETCH_NS;

    for (size_t i = 1; i < map->n_pairs; i++) {
        struct clock_pair *pair = &map->pairs[i];
        struct clock_pair *kept = &map->pairs[n_kept - 1];
        bool is_same = is_open && pair->ns < stretch_end;
        if (is_same && lateness(map, pair) >= lateness(map, kept))
            continue;
        if (!is_same && pair->ns < stretch_end)
            continue; /* the first stretch belongs to the first pair */
        if (is_same) {
            if (pair->ns > map->pairs[n_kept - 2].ns)
                *kept = *pair;
        } else if (pair->ticks > kept->ticks && pair->ns > kept->ns) {
            map->pairs[n_kept++] = *pair;
            is_open = true;
            stretch_end = pair->ns + CLOCK_MAP_STRETCH_NS;
        }
    }
    return n_kept;
}

int clock_map_finish(struct clock_map *map, uint64_t default_rate)
{
    if (map->is_identity)
        return 0;
    if (map->n_pairs == 0 && clock_map_add(map, 0, 1) != 0)
        return ERROR_NOMEM;
    map->rate = clock_map_rate(map);
    if (map->rate == 0)
        map->rate = default_rate;
    qsort(map->pairs, map->n_pairs, sizeof(*map->pairs), compare_pairs);
    map->n_pairs = thin_out(map);
    map->knots = calloc(map->n_pairs, sizeof(*map->knots));
    if (!map->knots)
        return ERROR_NOMEM;
    map->n_knots = map->n_pairs;
    for (size_t i = 0; i < map->n_knots; i++) {
        struct clock_knot *knot = &map->knots[i];
        knot->ticks = map->pairs[i].ticks;
        knot->ns = map->pairs[i].ns;
        knot->rate = i + 1 < map->n_knots ? rate_between(&map->pairs[i], &map->pairs[i + 1]) : 0;
        if (knot->rate == 0)
            knot->rate = map->rate;
    }
    free(map->pairs);
    map->pairs = NULL;
    map->n_pairs = 0;
    return 0;
}

static size_t find_knot(const struct clock_map *map, uint64_t ticks)
{
    size_t low = 0;
    size_t high = map->n_knots;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->knots[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t before_first_knot(const struct clock_map *map, uint64_t ticks)
{
    const struct clock_knot *knot = &map->knots[0];
    uint64_t fixed = knot->ns << CLOCK_MAP_FRACTION_BITS;
    uint64_t back = scale(knot->ticks - ticks, map->rate, CLOCK_MAP_FRACTION_BITS);

    return back > fixed ? 0 : fixed - back;
}

static bool is_inside(const struct clock_map *map, size_t knot, uint64_t ticks)
{
    return map->knots[knot].ticks <= ticks
           && (knot + 1 == map->n_knots || ticks < map->knots[knot + 1].ticks);
}

uint64_t clock_map_fixed_ns(const struct clock_map *map, struct clock_cursor *cursor,
                            uint64_t ticks)
{
    const struct clock_knot *knot;
    uint64_t fixed;

    if (map->is_identity)
        return ticks > MAX_NS ? MAX_FIXED : ticks << CLOCK_MAP_FRACTION_BITS;
    if (!is_inside(map, cursor->knot, ticks)) {
        if (ticks < map->knots[0].ticks)
            return before_first_knot(map, ticks);
        cursor->knot = find_knot(map, ticks);
    }
    knot = &map->knots[cursor->knot];
    fixed = (knot->ns << CLOCK_MAP_FRACTION_BITS)
            + scale(ticks - knot->ticks, knot->rate, CLOCK_MAP_FRACTION_BITS);
    return fixed > MAX_FIXED ? MAX_FIXED : fixed;
}

uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks)
{
    struct clock_cursor cursor = {0};
    return clock_map_fixed_ns(map, &cursor, ticks) >> CLOCK_MAP_FRACTION_BITS;
}
