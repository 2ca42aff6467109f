/* SPDX-License-Identifier: MIT */
/*
 * clock_map: ticks of one log -> nanoseconds of CLOCK_MONOTONIC.
 *
 * Model:   pairs of readings (ticks, ns) taken at nearly one instant become the knots of a
 *          piecewise-linear map. A reading that was interrupted between its two clocks shows an ns
 *          that is too late, so of all pairs of a stretch of time the earliest one for its ticks is
 *          kept. A stretch is closed by the first pair behind it, sooner when it has so many that one of them was surely read well; its
 *          knot is then one for good. Behind the last knot the rate of the whole recording goes on.
 *          More pairs may be added and the knots made again, as a log that is still written grows.
 * Invariants
 *   CM-1 The map never decreases: a <= b implies ns(a) <= ns(b).
 *   CM-2 Of each CLOCK_MAP_BATCH_NS of recording one knot is kept, of as little as CLOCK_MAP_SHORT_NS where there are
 *        CLOCK_MAP_MANY_PAIRS, whatever the number of pairs is, and the pairs of the last stretch.
 *   CM-3 A clock of LOG_CLOCK_MONOTONIC is its own nanoseconds.
 *   CM-4 Pairs added later, unless clock_map_make calls one late, change nothing for ticks up to
 *        final_ticks. Made at once or bit by bit, the knots are the same.
 *   CM-5 With a past that was taken at a mark, what lay behind the mark then does so for good, whatever readings come: a mark may lie behind
 *        final_ticks, where nobody is waited for.
 * Threads: read-only after clock_map_make; each reader has its own struct clock_cursor.
 */
#ifndef MTRACE_IMPORTER_CLOCK_MAP_H
#define MTRACE_IMPORTER_CLOCK_MAP_H

#include "importer/log/checkpoint_io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLOCK_MAP_FRACTION_BITS = 4, /* of a nanosecond, so that the order of ticks survives */
    CLOCK_MAP_RATE_BITS = 32,
    CLOCK_MAP_MANY_PAIRS = 8,
};

#define CLOCK_MAP_BATCH_NS 20000000ull
#define CLOCK_MAP_SHORT_NS 2000000ull
/* Behind this much nobody is thought to be held up between looking at the clock and writing; who is makes a late pair, or event. */
#define CLOCK_MAP_HELD_NS 200000000ull

struct clock_pair {
    uint64_t ticks;
    uint64_t ns;
};

struct clock_knot {
    uint64_t ticks; /* this knot holds from here to the next */
    uint64_t ns;
    uint64_t rate; /* ns per tick, 32 bits behind the point */
};

struct clock_map {
    bool is_identity;
    struct clock_pair
        *pairs; /* n_closed knots for good, then what may become the next, then new ones */
    size_t n_closed, n_pairs, pairs_capacity;
    bool has_open;            /* pairs[n_closed] opened a stretch */
    struct clock_pair newest; /* by ticks, of the pairs that clock_map_make saw */
    struct clock_pair last;   /* clock_map_set_last; of CLOCK_MONOTONIC the newest pair */
    struct clock_knot *knots;
    size_t n_knots, knots_capacity;
    size_t n_made;        /* knots for good, but for the rate of the last one */
    uint64_t final_ticks; /* CM-4; 0: nothing is final */
    uint64_t rate;        /* of the whole recording; 0: no two pairs were far enough apart */
};

/* Where a reader was last; all zero is valid. To be zeroed when knots are made again. */
struct clock_cursor {
    size_t knot;
};

void clock_map_init(struct clock_map *map, bool is_identity);
void clock_map_done(struct clock_map *map);

/* Adds a reading, in any order; one with ns 0 was not taken and is ignored. ERROR_NOMEM or 0. */
int clock_map_add(struct clock_map *map, uint64_t ticks, uint64_t ns);

/* The latest reading so far, which the next one may take the place of: it stands unless a pair lies behind it. */
void clock_map_set_last(struct clock_map *map, uint64_t ticks, uint64_t ns);

/* The pairs so far, as a packed file has them: rounded down to a multiple of 1 << shift ticks. Before the knots are made. */
void clock_map_round(struct clock_map *map, unsigned shift);

/* Rate of the pairs added so far (ns per tick, 32 bits behind the point), 0 if unknown. */
uint64_t clock_map_rate(const struct clock_map *map);

/* Makes the knots, also again. default_rate is used when the pairs give none. *ret_is_late: a pair lies
 * before the end of what was final, so that this map is no continuation of the one before. ERROR_NOMEM or 0. */
int clock_map_make(struct clock_map *map, uint64_t default_rate, bool *ret_is_late);

/* The last ticks up to `ticks` whose times are final, if nobody is held up who looked at the clock before `ticks` (CM-4); 0: none are. */
uint64_t clock_map_final_before(const struct clock_map *map, uint64_t ticks);

/* Of the knots up to until_ticks: another one, another map of the ticks up to there, if a knot lies at until_ticks. */
uint64_t clock_map_digest(const struct clock_map *map, uint64_t until_ticks);

/* ns of CLOCK_MONOTONIC, shifted left by CLOCK_MAP_FRACTION_BITS; saturates. */
uint64_t clock_map_fixed_ns(const struct clock_map *map, struct clock_cursor *cursor,
                            uint64_t ticks);

/* The stretch of the map that holds at `ticks`: from there until behind the last of `n_ticks`, the fixed-point ns are fixed_ns and what the rate adds,
 * without a look whether they saturate, as they do not. n_ticks 0: it must be asked for each. */
struct clock_line {
    uint64_t from_ticks, n_ticks, fixed_ns, rate;
};

struct clock_line clock_map_line(const struct clock_map *map, struct clock_cursor *cursor,
                                 uint64_t ticks);

__extension__ typedef unsigned __int128 clock_map_wide;

/* Of ticks of the line: as clock_map_fixed_ns. */
static inline uint64_t clock_line_fixed_ns(const struct clock_line *line, uint64_t ticks)
{
    return line->fixed_ns
           + (uint64_t)(((clock_map_wide)(ticks - line->from_ticks) * line->rate)
                        >> (CLOCK_MAP_RATE_BITS - CLOCK_MAP_FRACTION_BITS));
}

/* The same in whole ns without a cursor. */
uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks);

/* The pairs of a map that was made. Where segments go that a log once had, so do their pairs: with these the map is what it was with all of them.
 * All zero: none. */
struct clock_past {
    struct clock_pair *pairs;
    size_t n_pairs, n_closed, capacity;
    bool has_open;
};

enum {
    CLOCK_PAST_MOST =
        1
        << 14 /* knots: nearly three minutes at least are kept whole, what was before gets coarser */
};

void clock_past_done(struct clock_past *past);

/* mark: up to when, in fixed point, events were handed out (CM-5); UINT64_MAX: that is not known. ERROR_NOMEM or 0. */
int clock_past_take(struct clock_past *past, const struct clock_map *map, uint64_t mark);

/* Does the mark lie where readings to come have a say, so that nothing but a past holds them to it? Of a map that was made. */
bool clock_past_is_due(const struct clock_map *map, uint64_t mark);

/* clock_map_digest of the map that is made with it, up to a knot. */
uint64_t clock_past_digest(const struct clock_past *past, uint64_t until_ticks);
void clock_past_visit(struct clock_past *past, struct checkpoint_io *io); /* checkpoint_io.h */

/* Before the knots are made; what was added so far and lies before what is open counts as known. ERROR_NOMEM or 0. */
int clock_map_put_past(struct clock_map *map, const struct clock_past *past);

#endif
