/* SPDX-License-Identifier: MIT */
/*
 * timeline: live and allocated sums of one process over time, in at most TIMELINE_MAX_BUCKETS equal
 * buckets.
 *
 * Buckets begin at the start of the process and are 2^shift ns wide. When time leaves the last one,
 * neighbours are merged and buckets become twice as wide. So the length of the recording need not
 * be known, and memory is bounded. Buckets without events are not stored: live sums carry over.
 *
 * Invariants
 *   TL-1 Bucket i covers [start + i * width, start + (i + 1) * width); times never decrease.
 *   TL-2 Peak and low of a bucket cover all its time, including time without events.
 *   TL-3 Sums over buckets equal the totals of the process.
 *   TL-4 Until it is closed, the last bucket lacks its final live sums. So an event that stays
 *        within its low and peak need not update it.
 *   TL-5 Memory: 128 to 256 bytes for each bucket with events.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_TIMELINE_H
#define MTRACE_IMPORTER_TIMELINE_H

#include "importer/log/checkpoint_io.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/totals/report_classes.h"
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
    uint64_t leaked_blocks, leaked_bytes; /* allocated in the bucket and never freed */
    double live_variance, peak_variance;  /* of these bytes for samples, else 0 */
    double allocated_variance, freed_variance, leaked_variance;
};

/* The stored bucket that was found last, and the times that lead to it. */
struct timeline_found {
    uint64_t from_ns, to_ns;
    size_t index;
};

struct timeline {
    struct timeline_bucket *kept; /* those with events, in order; NULL before the first event */
    size_t n_kept, max_kept;
    uint64_t start_ns;
    double live_variance; /* current; a running difference that may be slightly off */
    unsigned shift;
    size_t n_buckets;             /* begun ones; the last may be open */
    uint64_t open_until_ns;       /* before this time only the last bucket changes; 0: unknown */
    struct timeline_bucket *last; /* of the kept ones; NULL: none */
    struct timeline_found found;  /* by timeline_count_leak */
};

void timeline_init(struct timeline *timeline, uint64_t start_ns);
void timeline_done(struct timeline *timeline);

/* live_* were valid from the previous call until now_ns, which is later. Call when time advances,
 * before events of now_ns are counted. */
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

/* timeline_advance before open_until_ns. False: live_bytes is within low and peak of the bucket. */
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

/* Count at the time of the last timeline_advance. */
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

/* Counts a block that was allocated at allocated_ns and never freed. After all events, in any
 * order; fastest in order of allocation. */
void timeline_count_leak(struct timeline *timeline, uint64_t allocated_ns,
                         const struct sample_weight *weight);

/* Closes the timeline: live_* were valid until end_ns inclusive, the end of the process. */
int timeline_finish(struct timeline *timeline, uint64_t end_ns, uint64_t live_bytes,
                    uint64_t live_blocks, struct error *err);

/* Returns bucket `number` < n_buckets. Call with increasing numbers; *cursor is 0 first. */
struct timeline_bucket timeline_read(const struct timeline *timeline, size_t number,
                                     size_t *cursor);

/* Saves the timeline, or loads it into one that was just initialized (checkpoint_io.h). */
void timeline_visit(struct timeline *timeline, struct checkpoint_io *io);

#endif
