/* SPDX-License-Identifier: MIT */
/*
 * clock_map: converts the ticks of one log to nanoseconds of CLOCK_MONOTONIC.
 *
 * Pairs of readings (ticks, ns), taken nearly together, become the knots of a piecewise-linear map.
 * A thread that is interrupted between its two readings has an ns that is too late. So each batch
 * of pairs keeps only the one that is earliest for its ticks. A batch is closed by the first pair
 * after it, or sooner when it has so many pairs that one of them is surely good. Its knot is then
 * permanent. After the last knot the rate of the whole recording applies. While a log grows, pairs
 * may be added and the knots made again.
 *
 * Invariants
 *   CM-1 The map never decreases: a <= b implies ns(a) <= ns(b).
 *   CM-2 One knot is kept per CLOCK_MAP_BATCH_NS, or per CLOCK_MAP_SHORT_NS where there are
 *        CLOCK_MAP_MANY_PAIRS, whatever the number of pairs, and all pairs of the open batch.
 *   CM-3 Ticks of LOG_CLOCK_MONOTONIC are nanoseconds already.
 *   CM-4 Pairs added later do not change the map up to final_ticks, unless clock_map_make reports
 *        one as late. The knots do not depend on how often they were made.
 *   CM-5 Times after the mark of a clock_past stay after it, whatever pairs follow. This matters
 *        because a mark may be later than final_ticks when slow writers are not waited for.
 *
 * Threads: read-only after clock_map_make; each reader has its own struct clock_cursor.
 */
#ifndef MTRACE_IMPORTER_CLOCK_MAP_H
#define MTRACE_IMPORTER_CLOCK_MAP_H

#include "importer/log/checkpoint_io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLOCK_MAP_FRACTION_BITS = 4, /* of a nanosecond: keeps distinct ticks in order */
    CLOCK_MAP_RATE_BITS = 32,
    CLOCK_MAP_MANY_PAIRS = 8,
};

#define CLOCK_MAP_BATCH_NS 20000000ull
#define CLOCK_MAP_SHORT_NS 2000000ull
/* A thread is assumed to write its event within this time of reading the clock. If it is delayed
 * for longer, its pair or event is late. */
#define CLOCK_MAP_HELD_NS 200000000ull

struct clock_pair {
    uint64_t ticks;
    uint64_t ns;
};

struct clock_knot {
    uint64_t ticks; /* the knot applies from here to the next */
    uint64_t ns;
    uint64_t rate; /* ns per tick, 32 fraction bits */
};

struct clock_map {
    bool is_identity;
    struct clock_pair
        *pairs; /* n_closed permanent knots, then candidates for the next, then new pairs */
    size_t n_closed, n_pairs, pairs_capacity;
    bool has_open;            /* pairs[n_closed] began a batch */
    struct clock_pair newest; /* largest ticks that clock_map_make saw */
    struct clock_pair last;   /* from clock_map_set_last; for CLOCK_MONOTONIC the newest pair */
    struct clock_knot *knots;
    size_t n_knots, knots_capacity;
    size_t n_made;        /* permanent knots; the rate of the last one may change */
    uint64_t final_ticks; /* CM-4; 0: nothing is final */
    uint64_t rate;        /* of the whole recording; 0: no two pairs are far enough apart */
};

/* A reader's last position. All zero is valid; zero it when knots are made again. */
struct clock_cursor {
    size_t knot;
};

void clock_map_init(struct clock_map *map, bool is_identity);
void clock_map_done(struct clock_map *map);

/* Adds a pair, in any order. A pair with ns 0 is ignored. ERROR_NOMEM or 0. */
int clock_map_add(struct clock_map *map, uint64_t ticks, uint64_t ns);

/* Sets the latest pair, which the next call replaces. It is used unless a pair is later. */
void clock_map_set_last(struct clock_map *map, uint64_t ticks, uint64_t ns);

/* Rounds the pairs down to multiples of 1 << shift ticks, as in a packed file. Call it before
 * clock_map_make. */
void clock_map_round(struct clock_map *map, unsigned shift);

/* Rate of the pairs so far (ns per tick, 32 fraction bits); 0 if unknown. */
uint64_t clock_map_rate(const struct clock_map *map);

/* Makes the knots; may be repeated. default_rate is used if the pairs give no rate. *ret_is_late: a
 * pair lies before final_ticks, so this map does not continue the previous one. ERROR_NOMEM or
 * 0. */
int clock_map_make(struct clock_map *map, uint64_t default_rate, bool *ret_is_late);

/* Digest of the knots up to until_ticks, where a knot must be. If it is equal, the map up to there
 * is equal. */
uint64_t clock_map_digest(const struct clock_map *map, uint64_t until_ticks);

/* ns of CLOCK_MONOTONIC, shifted left by CLOCK_MAP_FRACTION_BITS; saturates. */
uint64_t clock_map_fixed_ns(const struct clock_map *map, struct clock_cursor *cursor,
                            uint64_t ticks);

/* The line of the map at `ticks`. For the n_ticks from from_ticks on, the fixed-point ns are
 * fixed_ns plus what the rate adds; these do not saturate. n_ticks 0: use clock_map_fixed_ns for
 * each value. */
struct clock_line {
    uint64_t from_ticks, n_ticks, fixed_ns, rate;
};

struct clock_line clock_map_line(const struct clock_map *map, struct clock_cursor *cursor,
                                 uint64_t ticks);

__extension__ typedef unsigned __int128 clock_map_wide;

/* The same result as clock_map_fixed_ns, for ticks of the line. */
static inline uint64_t clock_line_fixed_ns(const struct clock_line *line, uint64_t ticks)
{
    return line->fixed_ns
           + (uint64_t)(((clock_map_wide)(ticks - line->from_ticks) * line->rate)
                        >> (CLOCK_MAP_RATE_BITS - CLOCK_MAP_FRACTION_BITS));
}

/* In whole ns, without a cursor. */
uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks);

/* Saved pairs of a map. When segments are removed from a log, their pairs go too; with the saved
 * ones the map does not change. All zero: empty. */
struct clock_past {
    struct clock_pair *pairs;
    size_t n_pairs, n_closed, capacity;
    bool has_open;
};

enum {
    CLOCK_PAST_MAX =
        1 << 14 /* knots: the last three minutes or more keep all; older ones are thinned */
};

void clock_past_done(struct clock_past *past);

/* Saves the pairs of a map. mark: fixed-point time up to which events were handed out (CM-5);
 * UINT64_MAX: unknown. ERROR_NOMEM or 0. */
int clock_past_take(struct clock_past *past, const struct clock_map *map, uint64_t mark);

/* True if later pairs could still change times at the mark, so that a past is needed to keep them.
 * The map must be made. */
bool clock_past_is_due(const struct clock_map *map, uint64_t mark);

/* clock_map_digest of the map that will be made with this past, up to a knot. */
uint64_t clock_past_digest(const struct clock_past *past, uint64_t until_ticks);
void clock_past_visit(struct clock_past *past, struct checkpoint_io *io); /* checkpoint_io.h */

/* Adds the saved pairs; call it before clock_map_make. Pairs added before that lie before the open
 * batch count as known. ERROR_NOMEM or 0. */
int clock_map_put_past(struct clock_map *map, const struct clock_past *past);

#endif
