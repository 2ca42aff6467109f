/* SPDX-License-Identifier: MIT */
/*
 * elide_clock: converts ticks to the report time that the importer will compute, as exactly as
 * known so far.
 *
 * Times are nanoseconds since the process began. Each segment begins with a reading of both clocks.
 * If the thread was preempted between the two, the reading is too late; so a reading counts only if
 * it agrees with the previous one.
 *
 * Invariants
 *   CC-1 While elide_clock_read returns true, elide_clock_ns near the segment's beginning is off by
 *        at most elide_clock_margin_ns.
 *   CC-2 elide_clock_bucket_end is a bucket boundary of every timeline that reaches so far, and
 *        regular snapshots are taken only at such boundaries.
 *   CC-3 Whatever times a damaged log has, results are within 3 x ELIDE_CLOCK_MAX.
 *
 * Notes: Timelines are coarsened by joining neighbouring buckets (timeline.h). Snapshots
 * (snapshots.h) do so (CC-2) unless the user chose windows.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_ELIDE_CLOCK_H
#define MTRACE_RECORDER_ELIDE_CLOCK_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

#define ELIDE_CLOCK_MAX (INT64_C(1) << 60) /* ns: 36 years */

struct elide_clock {
    uint64_t start_ticks, start_ns; /* of the process */
    uint64_t ticks, ns;             /* the last reading that counted; ns since the start */
    uint64_t rate_ticks;            /* of the latest reading */
    double ticks_per_ns;            /* from these readings; 0: not known yet */
};

/* Rounds to an integer, clamped to ELIDE_CLOCK_MAX. */
static inline int64_t elide_clock_whole(double value)
{
    const double most = (double)ELIDE_CLOCK_MAX;

    return (int64_t)(value > most ? most : value > -most ? value : -most);
}

/* Starts with the two readings in the log's header; if they are too close together, nothing is
 * known yet. */
void elide_clock_begin(struct elide_clock *clock, const struct log_header *file);

/* Takes the segment's reading; false: its times are not known well enough. */
bool elide_clock_read(struct elide_clock *clock, const struct log_segment *segment);

/* Since the start of the process; negative before it. */
int64_t elide_clock_ns(const struct elide_clock *clock, uint64_t ticks);

/* The maximum error of elide_clock_ns at this distance from the last reading. */
int64_t elide_clock_margin_ns(const struct elide_clock *clock, uint64_t ticks);

/* CC-2; since_ns >= 0 */
int64_t elide_clock_bucket_end(int64_t since_ns);

#endif
