/* SPDX-License-Identifier: MIT */
#include "importer/facts/timeline.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SHIFT = 10
};

void timeline_init(struct timeline *timeline, uint64_t start_ns)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->start_ns = start_ns;
    timeline->shift = FIRST_SHIFT;
}

void timeline_done(struct timeline *timeline)
{
    free(timeline->buckets);
    timeline->buckets = NULL;
}

static void join(struct timeline_bucket *into, const struct timeline_bucket *later)
{
    into->live_bytes = later->live_bytes;
    into->live_blocks = later->live_blocks;
    if (later->peak_bytes > into->peak_bytes)
        into->peak_bytes = later->peak_bytes;
    if (later->low_bytes < into->low_bytes)
        into->low_bytes = later->low_bytes;
    into->allocated_blocks += later->allocated_blocks;
    into->allocated_bytes += later->allocated_bytes;
    into->freed_blocks += later->freed_blocks;
    into->freed_bytes += later->freed_bytes;
}

static void double_width(struct timeline *timeline)
{
    size_t n = timeline->n_buckets;

    for (size_t i = 0; i < n; i += 2) {
        timeline->buckets[i / 2] = timeline->buckets[i];
        if (i + 1 < n)
            join(&timeline->buckets[i / 2], &timeline->buckets[i + 1]);
    }
    timeline->n_buckets = (n + 1) / 2;
    timeline->shift++;
}

static size_t bucket_of(const struct timeline *timeline, uint64_t time_ns)
{
    /* Stamps of other threads may lie a little before the start of the process. */
    return time_ns < timeline->start_ns ? 0 : (time_ns - timeline->start_ns) >> timeline->shift;
}

static int begin(struct timeline *timeline, struct error *err)
{
    timeline->buckets = calloc(TIMELINE_MAX_BUCKETS, sizeof *timeline->buckets);
    if (!timeline->buckets)
        return error_set(err, ERROR_NOMEM, "out of memory for a timeline");
    timeline->n_buckets = 1; /* nothing was live at its beginning: low, peak and live are 0 */
    return 0;
}

static void hold(struct timeline_bucket *bucket, uint64_t live_bytes, uint64_t live_blocks)
{
    bucket->live_bytes = live_bytes;
    bucket->live_blocks = live_blocks;
    if (live_bytes > bucket->peak_bytes)
        bucket->peak_bytes = live_bytes;
    if (live_bytes < bucket->low_bytes)
        bucket->low_bytes = live_bytes;
}

int timeline_advance(struct timeline *timeline, uint64_t now_ns, uint64_t live_bytes,
                     uint64_t live_blocks, struct error *err)
{
    if (!timeline->buckets) {
        int code = begin(timeline, err);
        if (code)
            return code;
    }
    while (bucket_of(timeline, now_ns) >= TIMELINE_MAX_BUCKETS)
        double_width(timeline);
    hold(&timeline->buckets[timeline->n_buckets - 1], live_bytes, live_blocks);
    for (size_t now = bucket_of(timeline, now_ns); timeline->n_buckets <= now;) {
        struct timeline_bucket *bucket = &timeline->buckets[timeline->n_buckets++];
        uint64_t starts_ns =
            timeline->start_ns + ((uint64_t)(timeline->n_buckets - 1) << timeline->shift);
        memset(bucket, 0, sizeof *bucket);
        bucket->low_bytes = UINT64_MAX;
        if (starts_ns < now_ns) /* else the instant itself decides */
            hold(bucket, live_bytes, live_blocks);
    }
    return 0;
}

void timeline_count_birth(struct timeline *timeline, uint64_t bytes)
{
    struct timeline_bucket *bucket = &timeline->buckets[timeline->n_buckets - 1];

    bucket->allocated_blocks++;
    bucket->allocated_bytes += bytes;
}

void timeline_count_end(struct timeline *timeline, uint64_t bytes)
{
    struct timeline_bucket *bucket = &timeline->buckets[timeline->n_buckets - 1];

    bucket->freed_blocks++;
    bucket->freed_bytes += bytes;
}

int timeline_finish(struct timeline *timeline, uint64_t end_ns, uint64_t live_bytes,
                    uint64_t live_blocks, struct error *err)
{
    int code = timeline_advance(timeline, end_ns, live_bytes, live_blocks, err);

    if (code == 0)
        hold(&timeline->buckets[timeline->n_buckets - 1], live_bytes, live_blocks);
    return code;
}
