/* SPDX-License-Identifier: MIT */
/*
 * cull_clock: when something was by the clock of reports, as the importer will see it, or as near to it as is known.
 *
 * Model:   nanoseconds since the process began, from the reading of both clocks that each segment begins with. A thread that lost its
 *          processor between the two readings has a time that is too late: a reading is believed when it agrees with the one before.
 * Invariants
 *   CC-1 While cull_clock_read says true, what cull_clock_ns says of a time near the segment's beginning is off by at most
 *        cull_clock_margin_ns of it.
 *   CC-2 cull_clock_bucket_end is the end of a bucket of every timeline that reaches that far (timeline.h: they are widened by joining
 *        neighbours), and each instant of a regular snapshot is such an end (snapshots.h), where windows were not chosen.
 *   CC-3 Whatever a damaged log says of its times: what is made of them here is within 3 x CULL_CLOCK_MOST.
 * Threads: one. Failure: none.
 */
#ifndef MTRACE_RECORDER_CULL_CLOCK_H
#define MTRACE_RECORDER_CULL_CLOCK_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stdint.h>

#define CULL_CLOCK_MOST (INT64_C(1) << 60) /* ns: 36 years */

struct cull_clock {
    uint64_t start_ticks, start_ns; /* of the process */
    uint64_t ticks, ns;             /* the last reading that was believed; ns since the start */
    uint64_t rate_ticks;            /* of the latest reading */
    double ticks_per_ns;            /* by that; 0: not known yet */
};

/* As an integer, or the next to it within CULL_CLOCK_MOST. */
static inline int64_t cull_clock_whole(double value)
{
    const double most = (double)CULL_CLOCK_MOST;

    return (int64_t)(value > most ? most : value > -most ? value : -most);
}

/* Two readings that the log's header has; where they are too near each other nothing is known yet. */
void cull_clock_begin(struct cull_clock *clock, const struct log_file *file);

/* Takes the segment's reading; false: its times are not known well enough. */
bool cull_clock_read(struct cull_clock *clock, const struct log_segment *segment);

/* Since the start of the process; before it: negative. */
int64_t cull_clock_ns(const struct cull_clock *clock, uint64_t ticks);

/* Of a time so far from the last reading. */
int64_t cull_clock_margin_ns(const struct cull_clock *clock, uint64_t ticks);

/* CC-2; since_ns >= 0 */
int64_t cull_clock_bucket_end(int64_t since_ns);

#endif
