/* SPDX-License-Identifier: MIT */
/*
 * elide_clock: when something was by the clock of reports, as the importer will see it, or as near to it as is known.
 *
 * Model:   nanoseconds since the process began, from the reading of both clocks that each segment begins with. A thread that lost its
 *          processor between the two readings has a time that is too late: a reading is believed when it agrees with the one before.
 * Invariants
 *   CC-1 While elide_clock_read says true, what elide_clock_ns says of a time near the segment's beginning is off by at most
 *        elide_clock_margin_ns of it.
 *   CC-2 elide_clock_bucket_end is the end of a bucket of every timeline that reaches that far (timeline.h: they are widened by joining
 *        neighbours), and each instant of a regular snapshot is such an end (snapshots.h), where windows were not chosen.
 *   CC-3 Whatever a damaged log says of its times: what is made of them here is within 3 x ELIDE_CLOCK_MOST.
 * Threads: one. Failure: none.
 */
#ifndef MTRACE_RECORDER_ELIDE_CLOCK_H
#define MTRACE_RECORDER_ELIDE_CLOCK_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

#define ELIDE_CLOCK_MOST (INT64_C(1) << 60) /* ns: 36 years */

struct elide_clock {
    uint64_t start_ticks, start_ns; /* of the process */
    uint64_t ticks, ns;             /* the last reading that was believed; ns since the start */
    uint64_t rate_ticks;            /* of the latest reading */
    double ticks_per_ns;            /* by that; 0: not known yet */
};

/* As an integer, or the next to it within ELIDE_CLOCK_MOST. */
static inline int64_t elide_clock_whole(double value)
{
    const double most = (double)ELIDE_CLOCK_MOST;

    return (int64_t)(value > most ? most : value > -most ? value : -most);
}

/* Two readings that the log's header has; where they are too near each other nothing is known yet. */
void elide_clock_begin(struct elide_clock *clock, const struct log_file *file);

/* Takes the segment's reading; false: its times are not known well enough. */
bool elide_clock_read(struct elide_clock *clock, const struct log_segment *segment);

/* Since the start of the process; before it: negative. */
int64_t elide_clock_ns(const struct elide_clock *clock, uint64_t ticks);

/* Of a time so far from the last reading. */
int64_t elide_clock_margin_ns(const struct elide_clock *clock, uint64_t ticks);

/* CC-2; since_ns >= 0 */
int64_t elide_clock_bucket_end(int64_t since_ns);

#endif
