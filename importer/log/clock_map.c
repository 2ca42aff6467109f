/* SPDX-License-Identifier: MIT */
#include "importer/log/clock_map.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/lower_bound.h"
#include "lib/logfile/columns.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_RATE_NS = 20000, /* closer pairs give too imprecise a rate */
};

#define MAX_NS    (1ull << 58) /* nine years: the fixed point fits 64 bits */
#define MAX_FIXED (MAX_NS << CLOCK_MAP_FRACTION_BITS)

/* Limits of a line, which does not saturate: a tick is at most 16 ns, the whole line a quarter of
 * MAX_NS. */
#define MAX_LINE_RATE  (UINT64_C(16) << CLOCK_MAP_RATE_BITS)
#define MAX_LINE_TICKS (MAX_NS / 64)

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

void clock_map_set_last(struct clock_map *map, uint64_t ticks, uint64_t ns)
{
    if (ns <= MAX_NS && (!map->is_identity || ns > map->last.ns))
        map->last = (struct clock_pair){.ticks = ticks, .ns = ns};
}

int clock_map_add(struct clock_map *map, uint64_t ticks, uint64_t ns)
{
    struct clock_pair *pairs;

    if (ns == 0 || ns > MAX_NS)
        return 0;
    if (map->is_identity) {
        clock_map_set_last(map, ns, ns);
        return 0;
    }
    pairs =
        dynamic_array_reserve(map->pairs, &map->pairs_capacity, map->n_pairs + 1, sizeof(*pairs));
    if (!pairs)
        return ERROR_NOMEM;
    map->pairs = pairs;
    map->pairs[map->n_pairs++] = (struct clock_pair){.ticks = ticks, .ns = ns};
    return 0;
}

void clock_map_round(struct clock_map *map, unsigned shift)
{
    for (size_t i = map->n_closed; i < map->n_pairs; i++)
        map->pairs[i].ticks &= UINT64_MAX << shift;
}

static uint64_t rate_between(const struct clock_pair *a, const struct clock_pair *b)
{
    clock_map_wide rate;

    if (b->ticks <= a->ticks || b->ns <= a->ns)
        return 0;
    rate = ((clock_map_wide)(b->ns - a->ns) << CLOCK_MAP_RATE_BITS) / (b->ticks - a->ticks);
    return rate > UINT64_MAX ? 0 : (uint64_t)rate;
}

uint64_t clock_map_rate(const struct clock_map *map)
{
    const struct clock_pair *first = map->pairs;
    const struct clock_pair *last = &map->newest;

    if (map->n_pairs == 0)
        return 0;
    if (map->last.ticks > last->ticks)
        last = &map->last;
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
    clock_map_wide ns = ((clock_map_wide)ticks * rate) >> (CLOCK_MAP_RATE_BITS - fraction_bits);
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

/* The open batch, after the last closed knot. */
struct batch {
    const struct clock_pair *closed;  /* that knot */
    const struct clock_pair *opening; /* NULL: the first batch, or no pair yet */
    const struct clock_pair *best;
    size_t n_pairs;
    uint64_t last_ticks; /* of the last of them */
    uint64_t rate;       /* from closed batches: later pairs must not change it (CM-4) */
};

/* Does `pair` have a shorter delay between its two readings than the best so far? */
static bool is_better(const struct batch *batch, const struct clock_pair *pair)
{
    uint64_t line = batch->best->ns + scale(pair->ticks - batch->best->ticks, batch->rate, 0);

    return pair->ns < line && pair->ns > batch->closed->ns;
}

static void batch_open(struct batch *batch, const struct clock_map *map,
                       const struct clock_pair *pair)
{
    batch->opening = batch->best = pair;
    batch->n_pairs = 1;
    batch->last_ticks = pair->ticks;
    batch->rate =
        rate_between(&map->pairs[0], map->n_closed > 1 ? &map->pairs[map->n_closed - 1] : pair);
}

/* Least length of a batch. An import of a running program waits for the end of a batch, so batches
 * with many pairs are short. */
static uint64_t min_length(const struct batch *batch)
{
    return batch->n_pairs < CLOCK_MAP_MANY_PAIRS ? CLOCK_MAP_BATCH_NS : CLOCK_MAP_SHORT_NS;
}

/* Adds the next pair by ticks. True: the pair closes the batch, and its best pair is a knot. */
static bool batch_add(struct batch *batch, const struct clock_map *map,
                      const struct clock_pair *pair)
{
    if (!batch->opening) {
        if (pair->ns >= batch->closed->ns + CLOCK_MAP_BATCH_NS
            && pair->ticks > batch->closed->ticks)
            batch_open(batch, map, pair);
        return false;
    }
    if (pair->ticks == batch->last_ticks) /* the same segment in the live log and packed */
        return false;
    if (pair->ns >= batch->opening->ns + min_length(batch))
        return pair->ticks > batch->best->ticks && pair->ns > batch->best->ns;
    batch->n_pairs++;
    batch->last_ticks = pair->ticks;
    if (is_better(batch, pair))
        batch->best = pair;
    return false;
}

/* Where the walk continues: after the last knot, in its batch or at the pair that opened the next
 * one. */
static struct batch batch_resume(const struct clock_map *map, size_t *ret_next)
{
    struct batch batch = {.closed = &map->pairs[map->n_closed - 1]};
    size_t i = map->n_closed;

    if (map->has_open) { /* a late pair may be before it: damage, or a map that is no longer used */
        while (
            i < map->n_pairs
            && (map->pairs[i].ticks <= batch.closed->ticks || map->pairs[i].ns <= batch.closed->ns))
            i++;
        if (i < map->n_pairs)
            batch_open(&batch, map, &map->pairs[i++]);
    }
    *ret_next = i;
    return batch;
}

/* Closes the batches that can be closed and keeps the pairs of the open one. */
static struct batch close_stretches(struct clock_map *map)
{
    size_t i;
    struct batch batch = batch_resume(map, &i);

    for (; i < map->n_pairs; i++) {
        if (!batch_add(&batch, map, &map->pairs[i]))
            continue;
        map->pairs[map->n_closed++] = *batch.best; /* its own place, or one before it */
        batch.closed = &map->pairs[map->n_closed - 1];
        batch_open(&batch, map, &map->pairs[i]);
    }
    size_t from = batch.opening ? (size_t)(batch.opening - map->pairs) : map->n_pairs;
    size_t moved = from - map->n_closed;
    memmove(&map->pairs[map->n_closed], &map->pairs[from],
            (map->n_pairs - from) * sizeof(*map->pairs));
    map->n_pairs -= moved;
    map->has_open = batch.opening != NULL;
    if (batch.opening) {
        batch.opening -= moved;
        batch.best -= moved;
    }
    return batch;
}

static void put_knot(struct clock_map *map, const struct clock_pair *pair)
{
    struct clock_knot *knot = &map->knots[map->n_knots++];

    *knot = (struct clock_knot){.ticks = pair->ticks, .ns = pair->ns, .rate = map->rate};
    if (map->n_knots > 1)
        knot[-1].rate = rate_between(&(struct clock_pair){knot[-1].ticks, knot[-1].ns}, pair);
}

/* Stores the permanent knots, and the temporary ones: the best pair of the open batch, and the last
 * reading. */
static int put_knots(struct clock_map *map, struct batch *batch)
{
    bool has_last = map->last.ns && map->last.ticks > map->newest.ticks;
    struct clock_knot *knots =
        dynamic_array_reserve(map->knots, &map->knots_capacity, map->n_closed + 2, sizeof(*knots));

    if (!knots)
        return ERROR_NOMEM;
    map->knots = knots;
    for (map->n_knots = map->n_made; map->n_knots < map->n_closed;)
        put_knot(map, &map->pairs[map->n_knots]);
    map->n_made = map->n_closed;
    knots[map->n_made - 1].rate = map->rate;
    bool is_closed = has_last && batch_add(batch, map, &map->last);
    if (batch->best)
        put_knot(map, batch->best);
    if (is_closed)
        put_knot(map, &map->last);
    return 0;
}

/* The last knot so long before the newest pair that any thread that read the clock before it has
 * written its event. */
static uint64_t find_final(const struct clock_map *map)
{
    for (size_t i = map->n_closed; i-- > 1;)
        if (map->newest.ns >= CLOCK_MAP_HELD_NS + map->pairs[i].ns)
            return map->pairs[i].ticks;
    return 0;
}

/* Sorts the pairs after the knots. */
static int sort_pairs(struct clock_map *map, bool *ret_is_late)
{
    uint64_t open_ticks = 0;

    if (map->n_pairs == 0
        && clock_map_add(map, map->last.ns ? map->last.ticks : 0, map->last.ns ? map->last.ns : 1)
               != 0)
        return ERROR_NOMEM;
    if (map->n_closed)
        open_ticks = map->pairs[map->has_open ? map->n_closed : map->n_closed - 1].ticks;
    if (map->n_pairs > map->n_closed)
        qsort(&map->pairs[map->n_closed], map->n_pairs - map->n_closed, sizeof(*map->pairs),
              compare_pairs);
    *ret_is_late = map->n_pairs > map->n_closed && map->pairs[map->n_closed].ticks < open_ticks;
    if (map->n_closed == 0)
        map->n_closed = 1;
    if (map->pairs[map->n_pairs - 1].ticks >= map->newest.ticks)
        map->newest = map->pairs[map->n_pairs - 1];
    return 0;
}

int clock_map_make(struct clock_map *map, uint64_t default_rate, bool *ret_is_late)
{
    *ret_is_late = false;
    if (map->is_identity) {
        map->final_ticks = map->last.ns > CLOCK_MAP_HELD_NS ? map->last.ns - CLOCK_MAP_HELD_NS : 0;
        return 0;
    }
    map->rate = clock_map_rate(map);
    if (map->rate == 0)
        map->rate = default_rate;
    if (sort_pairs(map, ret_is_late) != 0)
        return ERROR_NOMEM;
    struct batch batch = close_stretches(map);
    map->final_ticks = find_final(map);
    return put_knots(map, &batch);
}

static uint64_t digest_of(uint64_t digest, uint64_t ticks, uint64_t ns)
{
    digest = (digest ^ ticks) * UINT64_C(0x9e3779b97f4a7c15);
    return (digest ^ digest >> 29 ^ ns) * UINT64_C(0xbf58476d1ce4e5b9);
}

uint64_t clock_map_digest(const struct clock_map *map, uint64_t until_ticks)
{
    uint64_t digest = map->is_identity;

    for (size_t i = 0; i < map->n_knots && map->knots[i].ticks <= until_ticks; i++)
        digest = digest_of(digest, map->knots[i].ticks, map->knots[i].ns);
    return digest;
}

static size_t find_knot(const struct clock_map *map, uint64_t ticks)
{
    size_t i;

    LOWER_BOUND(i, map->n_knots, map->knots[i].ticks <= ticks);
    return i ? i - 1 : 0;
}

static uint64_t before_first_knot(const struct clock_map *map, uint64_t ticks)
{
    const struct clock_knot *knot = &map->knots[0];
    uint64_t fixed = knot->ns << CLOCK_MAP_FRACTION_BITS;
    uint64_t back = scale(knot->ticks - ticks, knot->rate, CLOCK_MAP_FRACTION_BITS);

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

/* The first ticks beyond the limits of the line from the knot on. */
static uint64_t find_limit(const struct clock_map *map, size_t knot)
{
    const struct clock_knot *at = &map->knots[knot];
    uint64_t next = knot + 1 < map->n_knots ? map->knots[knot + 1].ticks : UINT64_MAX;
    uint64_t most =
        at->ticks + MAX_LINE_TICKS < at->ticks ? UINT64_MAX : at->ticks + MAX_LINE_TICKS;

    return next < most ? next : most;
}

struct clock_line clock_map_line(const struct clock_map *map, struct clock_cursor *cursor,
                                 uint64_t ticks)
{
    const struct clock_knot *knot;

    (void)clock_map_fixed_ns(map, cursor, ticks);
    if (map->is_identity || !is_inside(map, cursor->knot, ticks))
        return (struct clock_line){0};
    knot = &map->knots[cursor->knot];
    if (knot->ns > MAX_NS / 2 || knot->rate > MAX_LINE_RATE)
        return (struct clock_line){0};
    return (struct clock_line){.from_ticks = knot->ticks,
                               .n_ticks = find_limit(map, cursor->knot) - knot->ticks,
                               .fixed_ns = knot->ns << CLOCK_MAP_FRACTION_BITS,
                               .rate = knot->rate};
}

uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks)
{
    struct clock_cursor cursor = {0};
    return clock_map_fixed_ns(map, &cursor, ticks) >> CLOCK_MAP_FRACTION_BITS;
}

/* ---- saved pairs ---- */

void clock_past_done(struct clock_past *past)
{
    free(past->pairs);
    memset(past, 0, sizeof(*past));
}

/* Removes every other knot of the older half except the first: old times become less exact if the
 * clock rate varied. A knot stays if the next one is after `known_ticks` (CM-5). */
static void make_coarser(struct clock_past *past, uint64_t known_ticks)
{
    size_t n_known;
    size_t n = 1;

    LOWER_BOUND(n_known, past->n_closed, past->pairs[n_known].ticks < known_ticks);
    size_t n_old = past->n_closed / 2 < n_known ? past->n_closed / 2 : n_known;
    if (n_old < 3)
        return;
    for (size_t i = 2; i < n_old; i += 2)
        past->pairs[n++] = past->pairs[i];
    if (past->pairs[n - 1].ticks
        != past->pairs[n_old - 1].ticks) /* known_ticks may be between it and the next one */
        past->pairs[n++] = past->pairs[n_old - 1];
    memmove(&past->pairs[n], &past->pairs[n_old], (past->n_pairs - n_old) * sizeof(*past->pairs));
    past->n_pairs -= n_old - n;
    past->n_closed -= n_old - n;
}

/* The first ticks after the time; UINT64_MAX: none. */
static uint64_t find_behind(const struct clock_map *map, uint64_t fixed_ns)
{
    struct clock_cursor cursor = {0};
    uint64_t ticks = 0;

    for (uint64_t step = UINT64_C(1) << 63; step; step /= 2)
        if (clock_map_fixed_ns(map, &cursor, ticks + step - 1) <= fixed_ns)
            ticks += step;
    return ticks;
}

/* Closes the current knots before `ticks`, and adds one there: later times are then never before
 * its current time, rounded up. */
static void close_at(struct clock_past *past, const struct clock_map *map, uint64_t ticks)
{
    struct clock_cursor cursor = {0};
    uint64_t fixed_ns = clock_map_fixed_ns(map, &cursor, ticks);
    uint64_t rounded = ticks & UINT64_MAX << COLUMNS_MAX_TIME_SHIFT; /* later events may be there */
    size_t n = past->n_closed;

    for (size_t i = map->n_made; i < map->n_knots && map->knots[i].ticks < rounded; i++)
        if (map->knots[i].ticks > past->pairs[n - 1].ticks)
            past->pairs[n++] =
                (struct clock_pair){.ticks = map->knots[i].ticks, .ns = map->knots[i].ns};
    past->pairs[n].ticks = rounded > past->pairs[n - 1].ticks ? rounded : ticks;
    past->pairs[n++].ns =
        (fixed_ns + (1U << CLOCK_MAP_FRACTION_BITS) - 1) >> CLOCK_MAP_FRACTION_BITS;
    past->n_pairs = past->n_closed = n;
    past->has_open = false;
}

/* After the last permanent knot, no time will be before the knot's. */
bool clock_past_is_due(const struct clock_map *map, uint64_t mark)
{
    return !map->is_identity && map->pairs[map->n_closed - 1].ns << CLOCK_MAP_FRACTION_BITS < mark
           && find_behind(map, mark) < UINT64_MAX;
}

int clock_past_take(struct clock_past *past, const struct clock_map *map, uint64_t mark)
{
    struct clock_pair *pairs;

    if (map->is_identity || map->n_pairs == 0)
        return 0;
    /* for the current knots and the one at the mark */
    pairs = dynamic_array_reserve(past->pairs, &past->capacity,
                                  map->n_pairs + (map->n_knots - map->n_made) + 1, sizeof(*pairs));
    if (!pairs)
        return ERROR_NOMEM;
    memcpy(pairs, map->pairs, map->n_pairs * sizeof(*pairs));
    past->pairs = pairs;
    past->n_pairs = map->n_pairs;
    past->n_closed = map->n_closed;
    past->has_open = map->has_open;
    if (clock_past_is_due(map, mark))
        close_at(past, map, find_behind(map, mark));
    if (past->n_closed > CLOCK_PAST_MAX)
        make_coarser(past, find_behind(map, mark));
    return 0;
}

uint64_t clock_past_digest(const struct clock_past *past, uint64_t until_ticks)
{
    uint64_t digest = 0;

    for (size_t i = 0; i < past->n_closed && past->pairs[i].ticks <= until_ticks; i++)
        digest = digest_of(digest, past->pairs[i].ticks, past->pairs[i].ns);
    return digest;
}

int clock_map_put_past(struct clock_map *map, const struct clock_past *past)
{
    const struct clock_pair *own = map->pairs;
    size_t n_own = map->n_pairs;
    size_t capacity = past->n_pairs + n_own + 1;
    struct clock_pair *pairs;

    if (map->is_identity || past->n_pairs == 0)
        return 0;
    pairs = malloc(capacity * sizeof(*pairs));
    if (!pairs)
        return ERROR_NOMEM;
    memcpy(pairs, past->pairs, past->n_pairs * sizeof(*pairs));
    uint64_t seen = pairs[past->has_open ? past->n_closed : past->n_closed - 1].ticks;
    size_t n = past->n_pairs;
    for (size_t i = 0; i < n_own; i++)
        if (own[i].ticks > seen) /* batch_add ignores duplicates */
            pairs[n++] = own[i];
    free(map->pairs);
    map->pairs = pairs;
    map->pairs_capacity = capacity;
    map->n_pairs = n;
    map->n_closed = past->n_closed;
    map->has_open = past->has_open;
    return 0;
}

void clock_past_visit(struct clock_past *past, struct checkpoint_io *io)
{
    past->pairs = checkpoint_io_array(io, past->pairs, &past->n_pairs, &past->capacity,
                                      CHECKPOINT_MAX, sizeof(*past->pairs));
    checkpoint_io_bool(io, &past->has_open);
    checkpoint_io_count(io, &past->n_closed, past->n_pairs);
}
