/* SPDX-License-Identifier: MIT */
/*
 * timeline: how live and allocated sums of one process went over time, in at most
 * TIMELINE_MAX_BUCKETS equal buckets.
 *
 * Model:   buckets begin at the start of the process and are 2^shift ns wide. When time leaves the
 *          last one, neighbours are joined and buckets become twice as wide: no length of the
 *          recording need be known, and none costs more memory. Buckets in which nothing happens
 *          are not kept: what was live before goes on in them.
 * Invariants
 *   TL-1 Bucket i covers [start + i * width, start + (i + 1) * width); times never decrease.
 *   TL-2 peak and low of a bucket are taken over all its instants, also those without events.
 *   TL-3 Sums over buckets equal the totals of the process.
 *   TL-4 Until it is closed the last bucket lacks what is live at its end: nothing need be done for an instant that is within its low and peak.
 *   TL-5 Memory: 128 bytes, doubled at most, for each bucket in which something happened.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_TIMELINE_H
#define MTRACE_IMPORTER_TIMELINE_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/totals/report_grid.h"
#include "lib/totals/sample_weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TIMELINE_MAX_BUCKETS = 1 << REPORT_GRID_BUCKETS_LOG2
};

struct timeline_bucket {
    size_t number;
    uint64_t live_bytes, live_blocks; /* at the end of the bucket */
    uint64_t peak_bytes, low_bytes;
    uint64_t allocated_blocks, allocated_bytes;
    uint64_t freed_blocks, freed_bytes;
    uint64_t leaked_blocks, leaked_bytes; /* born in the bucket, and never freed */
    double live_variance, peak_variance;  /* of these bytes, where blocks are samples; else 0 */
    double allocated_variance, freed_variance, leaked_variance;
};

/* The kept bucket that was found last by a time, and which times lead to it. */
struct timeline_found {
    uint64_t from_ns, to_ns;
    size_t index;
};

struct timeline {
    struct timeline_bucket *kept; /* those with events, in order; NULL before the first event */
    size_t n_kept, max_kept;
    uint64_t start_ns;
    double live_variance; /* now; a sum of what came and went, which may be a little off */
    unsigned shift;
    size_t n_buckets;             /* begun ones; the last may be open */
    uint64_t open_until_ns;       /* before this nothing but the last bucket changes; 0: look */
    struct timeline_bucket *last; /* of the kept ones; NULL: none */
    struct timeline_found found;  /* by timeline_count_leak */
};

void timeline_init(struct timeline *timeline, uint64_t start_ns);
void timeline_done(struct timeline *timeline);

/* live_* held from the last instant told until now_ns, which lies after it: to be called when time
 * goes on, before anything of now_ns is counted. */
int timeline_advance_slow(struct timeline *timeline, uint64_t now_ns, uint64_t live_bytes,
                          uint64_t live_blocks, struct error *err);

static inline void timeline_hold(const struct timeline *timeline, struct timeline_bucket *bucket,
                                 uint64_t live_bytes, uint64_t live_blocks)
{
    bucket->live_bytes = live_bytes;
    bucket->live_blocks = live_blocks;
    bucket->live_variance = timeline->live_variance;
    if (live_bytes > bucket->peak_bytes) {
        bucket->peak_bytes = live_bytes;
        bucket->peak_variance = timeline->live_variance;
    }
    if (live_bytes < bucket->low_bytes)
        bucket->low_bytes = live_bytes;
}

/* timeline_advance before open_until_ns. False: all of it was within what the bucket had. */
static inline bool timeline_hold_outside(struct timeline *timeline, uint64_t live_bytes,
                                         uint64_t live_blocks)
{
    bool is_outside =
        live_bytes > timeline->last->peak_bytes || live_bytes < timeline->last->low_bytes;

    if (is_outside)
        timeline_hold(timeline, timeline->last, live_bytes, live_blocks);
    return is_outside;
}

static inline int timeline_advance(struct timeline *timeline, uint64_t now_ns, uint64_t live_bytes,
                                   uint64_t live_blocks, struct error *err)
{
    if (now_ns >= timeline->open_until_ns)
        return timeline_advance_slow(timeline, now_ns, live_bytes, live_blocks, err);
    timeline_hold_outside(timeline, live_bytes, live_blocks);
    return 0;
}

/* Count at the instant of the last timeline_advance. */
static inline void timeline_count_allocation(struct timeline *timeline,
                                             const struct sample_weight *weight)
{
    struct timeline_bucket *bucket = timeline->last;

    bucket->allocated_blocks += weight->blocks;
    bucket->allocated_bytes += weight->bytes;
    if (mtrace_unlikely(weight->bytes_variance != 0)) {
        bucket->allocated_variance += weight->bytes_variance;
        timeline->live_variance += weight->bytes_variance;
    }
}

static inline void timeline_count_end(struct timeline *timeline, const struct sample_weight *weight)
{
    struct timeline_bucket *bucket = timeline->last;

    bucket->freed_blocks += weight->blocks;
    bucket->freed_bytes += weight->bytes;
    if (mtrace_unlikely(weight->bytes_variance != 0)) {
        bucket->freed_variance += weight->bytes_variance;
        timeline->live_variance -= weight->bytes_variance;
    }
}

/* Of a block that was counted as born at allocated_ns: it was never freed. In any order, fastest in that of the births, at the end. */
void timeline_count_leak(struct timeline *timeline, uint64_t allocated_ns,
                         const struct sample_weight *weight);

/* live_* held until end_ns, the last instant of the process, and at it. */
int timeline_finish(struct timeline *timeline, uint64_t end_ns, uint64_t live_bytes,
                    uint64_t live_blocks, struct error *err);

/* Bucket `number` < n_buckets. *cursor is 0 at the first, and numbers go up. */
struct timeline_bucket timeline_read(const struct timeline *timeline, size_t number,
                                     size_t *cursor);

/* Into the bytes or from them, into one that was just begun (checkpoint_io.h). */
void timeline_visit(struct timeline *timeline, struct checkpoint_io *io);

#endif
