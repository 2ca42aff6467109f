/* SPDX-License-Identifier: MIT */
#include "importer/totals/timeline.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"

#include <stdlib.h>
#include <string.h>

void timeline_init(struct timeline *timeline, uint64_t start_ns)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->start_ns = start_ns;
    timeline->shift = REPORT_GRID_FIRST_SHIFT;
}

void timeline_done(struct timeline *timeline)
{
    free(timeline->kept);
    timeline->kept = timeline->last = NULL;
}

static void join(struct timeline_bucket *into, const struct timeline_bucket *later)
{
    into->live_bytes = later->live_bytes;
    into->live_blocks = later->live_blocks;
    into->live_variance = later->live_variance;
    if (later->peak_bytes > into->peak_bytes) {
        into->peak_bytes = later->peak_bytes;
        into->peak_variance = later->peak_variance;
    }
    if (later->low_bytes < into->low_bytes)
        into->low_bytes = later->low_bytes;
    into->allocated_blocks += later->allocated_blocks;
    into->allocated_bytes += later->allocated_bytes;
    into->freed_blocks += later->freed_blocks;
    into->freed_bytes += later->freed_bytes;
    into->leaked_blocks += later->leaked_blocks;
    into->leaked_bytes += later->leaked_bytes;
    into->allocated_variance += later->allocated_variance;
    into->freed_variance += later->freed_variance;
    into->leaked_variance += later->leaked_variance;
}

/* The lower half of a widened bucket had no events: the live sums before it apply there. */
static void widen_down(struct timeline_bucket *bucket, const struct timeline_bucket *before)
{
    if (before->live_bytes > bucket->peak_bytes) {
        bucket->peak_bytes = before->live_bytes;
        bucket->peak_variance = before->live_variance;
    }
    if (before->live_bytes < bucket->low_bytes)
        bucket->low_bytes = before->live_bytes;
}

static void double_width(struct timeline *timeline)
{
    size_t n = 0;

    timeline->found = (struct timeline_found){0};
    for (size_t i = 0; i < timeline->n_kept; i++) {
        struct timeline_bucket bucket = timeline->kept[i];
        bool is_upper = bucket.number % 2 != 0;
        bucket.number /= 2;
        if (n > 0 && timeline->kept[n - 1].number == bucket.number) {
            join(&timeline->kept[n - 1], &bucket);
            continue;
        }
        if (is_upper) /* bucket 0 is always stored, so n > 0 */
            widen_down(&bucket, &timeline->kept[n - 1]);
        timeline->kept[n++] = bucket;
    }
    timeline->n_kept = n;
    timeline->last = &timeline->kept[n - 1];
    timeline->n_buckets = (timeline->n_buckets + 1) / 2;
    timeline->shift++;
}

static size_t bucket_of(const struct timeline *timeline, uint64_t time_ns)
{
    /* Times of other threads may be slightly before the start of the process. */
    return time_ns < timeline->start_ns ? 0 : (time_ns - timeline->start_ns) >> timeline->shift;
}

/* Adds a bucket; NULL: no memory. */
static struct timeline_bucket *keep(struct timeline *timeline, size_t number, struct error *err)
{
    struct timeline_bucket *kept = dynamic_array_reserve(timeline->kept, &timeline->max_kept,
                                                         timeline->n_kept + 1, sizeof *kept);

    if (!kept) {
        error_set(err, ERROR_NOMEM, "out of memory for a timeline");
        return NULL;
    }
    timeline->kept = kept;
    timeline->found = (struct timeline_found){0};
    timeline->n_buckets = number + 1;
    timeline->last = &kept[timeline->n_kept++];
    *timeline->last = (struct timeline_bucket){.number = number};
    return timeline->last;
}

/* Opens the bucket of now_ns, unless it is open. */
static int open_bucket(struct timeline *timeline, uint64_t now_ns, uint64_t live_bytes,
                       uint64_t live_blocks, struct error *err)
{
    struct timeline_bucket *bucket;
    size_t now = bucket_of(timeline, now_ns);

    if (now < timeline->n_buckets)
        return 0;
    bucket = keep(timeline, now, err);
    if (!bucket)
        return ERROR_NOMEM;
    bucket->low_bytes = UINT64_MAX;
    if (timeline->start_ns + ((uint64_t)now << timeline->shift) < now_ns)
        timeline_hold(timeline, bucket, live_bytes,
                      live_blocks); /* else only sums after now_ns count in it */
    return 0;
}

int timeline_advance_slow(struct timeline *timeline, uint64_t now_ns, uint64_t live_bytes,
                          uint64_t live_blocks, struct error *err)
{
    int code;

    if (timeline->n_kept == 0 /* at its beginning low, peak and live are 0 */
        && !keep(timeline, 0, err))
        return ERROR_NOMEM;
    while (bucket_of(timeline, now_ns) >= TIMELINE_MAX_BUCKETS)
        double_width(timeline);
    timeline_hold(timeline, timeline->last, live_bytes, live_blocks);
    code = open_bucket(timeline, now_ns, live_bytes, live_blocks, err);
    timeline->open_until_ns =
        timeline->start_ns + ((uint64_t)timeline->n_buckets << timeline->shift);
    return code;
}

/* Begin of the stored bucket at the index. */
static uint64_t begins_ns(const struct timeline *timeline, size_t index)
{
    return index == 0
               ? 0
               : timeline->start_ns + ((uint64_t)timeline->kept[index].number << timeline->shift);
}

/* The last stored bucket that begins at or before time_ns. It contains time_ns, unless clocks of
 * threads differ. */
static size_t find(const struct timeline *timeline, uint64_t time_ns)
{
    size_t number = bucket_of(timeline, time_ns);
    size_t i;

    LOWER_BOUND(i, timeline->n_kept, timeline->kept[i].number <= number);
    return i ? i - 1 : 0;
}

/* Blocks reported in a row were mostly allocated at similar times. */
static struct timeline_bucket *find_again(struct timeline *timeline, uint64_t time_ns)
{
    struct timeline_found *found = &timeline->found;

    if (time_ns < found->from_ns || time_ns >= found->to_ns) {
        found->index = find(timeline, time_ns);
        found->from_ns = begins_ns(timeline, found->index);
        found->to_ns = found->index + 1 < timeline->n_kept ? begins_ns(timeline, found->index + 1)
                                                           : UINT64_MAX;
    }
    return &timeline->kept[found->index];
}

void timeline_count_leak(struct timeline *timeline, uint64_t allocated_ns,
                         const struct sample_weight *weight)
{
    struct timeline_bucket *bucket = find_again(timeline, allocated_ns);

    bucket->leaked_blocks += weight->blocks;
    bucket->leaked_bytes += weight->bytes;
    bucket->leaked_variance += weight->bytes_variance;
}

int timeline_finish(struct timeline *timeline, uint64_t end_ns, uint64_t live_bytes,
                    uint64_t live_blocks, struct error *err)
{
    int code = timeline_advance(timeline, end_ns, live_bytes, live_blocks, err);

    if (code == 0)
        timeline_hold(timeline, timeline->last, live_bytes, live_blocks);
    return code;
}

struct timeline_bucket timeline_read(const struct timeline *timeline, size_t number, size_t *cursor)
{
    while (*cursor + 1 < timeline->n_kept && timeline->kept[*cursor + 1].number <= number)
        ++*cursor;
    const struct timeline_bucket *last = &timeline->kept[*cursor];
    if (last->number == number)
        return *last;
    return (struct timeline_bucket){.number = number,
                                    .live_bytes = last->live_bytes,
                                    .live_blocks = last->live_blocks,
                                    .peak_bytes = last->live_bytes,
                                    .low_bytes = last->live_bytes,
                                    .live_variance = last->live_variance,
                                    .peak_variance = last->live_variance};
}

void timeline_visit(struct timeline *timeline, struct checkpoint_io *io)
{
    uint32_t shift = timeline->shift;

    timeline->kept = checkpoint_io_array(io, timeline->kept, &timeline->n_kept, &timeline->max_kept,
                                         TIMELINE_MAX_BUCKETS, sizeof *timeline->kept);
    checkpoint_io_u64(io, &timeline->start_ns);
    checkpoint_io_bytes(io, &timeline->live_variance, sizeof timeline->live_variance);
    checkpoint_io_u32(io, &shift);
    checkpoint_io_count(io, &timeline->n_buckets, TIMELINE_MAX_BUCKETS);
    timeline->shift = shift;
    timeline->last = timeline->n_kept ? &timeline->kept[timeline->n_kept - 1] : NULL;
}
