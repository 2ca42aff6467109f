/* SPDX-License-Identifier: MIT */
/*
 * clock_map: ticks of one log -> nanoseconds of CLOCK_MONOTONIC.
 *
 * Model:   pairs of readings (ticks, ns) taken at nearly one instant become the knots of a
 *          piecewise-linear map. A reading that was interrupted between its two clocks shows an ns
 *          that is too late, so of all pairs of a stretch of time the earliest one for its ticks is
 *          kept. Outside the knots the rate of the whole recording goes on.
 * Invariants
 *   CM-1 The map never decreases: a <= b implies ns(a) <= ns(b).
 *   CM-2 Memory: one knot per CLOCK_MAP_STRETCH_NS of recording, whatever the number of pairs is,
 *        after clock_map_finish.
 *   CM-3 A clock of LOG_CLOCK_MONOTONIC is its own nanoseconds.
 * Threads: read-only after clock_map_finish; each reader has its own struct clock_cursor.
 */
#ifndef MTRACE_IMPORTER_CLOCK_MAP_H
#define MTRACE_IMPORTER_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLOCK_MAP_FRACTION_BITS = 4, /* of a nanosecond, so that the order of ticks survives */
};

#define CLOCK_MAP_STRETCH_NS 1000000000ull

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
    struct clock_pair *pairs; /* until clock_map_finish */
    size_t n_pairs, pairs_capacity;
    struct clock_knot *knots;
    size_t n_knots;
    uint64_t rate; /* of the whole recording; 0: no two pairs were far enough apart */
};

/* Where a reader was last; all zero is valid. */
struct clock_cursor {
    size_t knot;
};

void clock_map_init(struct clock_map *map, bool is_identity);
void clock_map_done(struct clock_map *map);

/* Adds a reading, in any order; one with ns 0 was not taken and is ignored. ERROR_NOMEM or 0. */
int clock_map_add(struct clock_map *map, uint64_t ticks, uint64_t ns);

/* Rate of the pairs added so far (ns per tick, 32 bits behind the point), 0 if unknown. */
uint64_t clock_map_rate(const struct clock_map *map);

/* Makes the knots. default_rate is used when the pairs give none. ERROR_NOMEM or 0. */
int clock_map_finish(struct clock_map *map, uint64_t default_rate);

/* ns of CLOCK_MONOTONIC, shifted left by CLOCK_MAP_FRACTION_BITS; saturates. */
uint64_t clock_map_fixed_ns(const struct clock_map *map, struct clock_cursor *cursor,
                            uint64_t ticks);

/* The same in whole ns without a cursor. */
uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks);

#endif
