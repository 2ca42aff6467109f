/* SPDX-License-Identifier: MIT */
#include "importer/totals/timeline.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define START UINT64_C(1000000)

/* One block of 10 bytes is allocated every 100 ns and freed 50 ns later. */
static void run(struct timeline *timeline, uint64_t n_blocks)
{
    uint64_t live = 0;

    for (uint64_t i = 0; i < n_blocks; i++) {
        assert_int_equal(timeline_advance(timeline, START + i * 100, live, live / 10, NULL), 0);
        timeline_count_allocation(timeline, &(struct sample_weight){.blocks = 1, .bytes = 10});
        live += 10;
        assert_int_equal(timeline_advance(timeline, START + i * 100 + 50, live, live / 10, NULL),
                         0);
        timeline_count_end(timeline, &(struct sample_weight){.blocks = 1, .bytes = 10});
        live -= 10;
    }
    assert_int_equal(timeline_finish(timeline, START + n_blocks * 100, live, live / 10, NULL), 0);
}

/* TL-1, TL-3: whatever the length, sums are complete and the buckets cover all of it. */
TEST(any_length)
{
    for (uint64_t n_blocks = 1; n_blocks < 3000000; n_blocks = n_blocks * 5 + 1) {
        struct timeline timeline;
        uint64_t allocated = 0, freed = 0;
        size_t cursor = 0;
        timeline_init(&timeline, START);
        run(&timeline, n_blocks);
        assert_true(timeline.n_buckets <= TIMELINE_MAX_BUCKETS);
        assert_int_equal(n_blocks * 100 >> timeline.shift, timeline.n_buckets - 1);
        for (size_t i = 0; i < timeline.n_buckets; i++) {
            struct timeline_bucket bucket = timeline_read(&timeline, i, &cursor);
            allocated += bucket.allocated_blocks;
            freed += bucket.freed_bytes;
            assert_int_equal(bucket.low_bytes, 0);
            if (i + 1 < timeline.n_buckets) /* the last has perhaps no event in it */
                assert_int_equal(bucket.peak_bytes, 10);
        }
        assert_int_equal(allocated, n_blocks);
        assert_int_equal(freed, n_blocks * 10);
        timeline_done(&timeline);
    }
}

/* TL-2: live bytes continue through buckets without events. */
TEST(quiet)
{
    struct timeline_bucket buckets[7];
    struct timeline timeline;
    size_t cursor = 0;

    timeline_init(&timeline, START);
    assert_int_equal(timeline_advance(&timeline, START, 0, 0, NULL), 0);
    timeline_count_allocation(&timeline, &(struct sample_weight){.blocks = 1, .bytes = 70});
    assert_int_equal(timeline_advance(&timeline, START + 5 * 1024 + 1, 70, 1, NULL), 0);
    timeline_count_end(&timeline, &(struct sample_weight){.blocks = 1, .bytes = 70});
    assert_int_equal(timeline_finish(&timeline, START + 6 * 1024 + 1, 0, 0, NULL), 0);
    assert_int_equal(timeline.n_buckets, 7);
    assert_int_equal(timeline.n_kept, 3);
    for (size_t i = 0; i < 7; i++)
        buckets[i] = timeline_read(&timeline, i, &cursor);
    assert_int_equal(buckets[0].low_bytes, 0);
    for (int i = 1; i < 5; i++) {
        assert_int_equal(buckets[i].live_bytes, 70);
        assert_int_equal(buckets[i].live_blocks, 1);
        assert_int_equal(buckets[i].low_bytes, 70);
        assert_int_equal(buckets[i].peak_bytes, 70);
    }
    assert_int_equal(buckets[5].peak_bytes, 70);
    assert_int_equal(buckets[5].live_bytes, 0);
    assert_int_equal(buckets[6].peak_bytes, 0);
    timeline_done(&timeline);
}

/* TL-2, TL-4: few events over a long time, compared with live sums at each time. */
TEST(rare_events)
{
    enum {
        N = 200,
        STEP = 1000003
    };

    struct timeline timeline;
    uint64_t live_at[N];
    uint64_t live = 0;
    uint64_t seed = 5;
    size_t cursor = 0;

    timeline_init(&timeline, START);
    for (int i = 0; i < N; i++) {
        assert_int_equal(timeline_advance(&timeline, START + (uint64_t)i * STEP, live, 1, NULL), 0);
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        live = seed >> 50;
        live_at[i] = live; /* from now to the next */
    }
    assert_int_equal(timeline_finish(&timeline, START + (uint64_t)N * STEP, live, 1, NULL), 0);
    assert_true(timeline.n_buckets > 2 * N);
    assert_true(timeline.n_kept <= N + 1);
    for (size_t b = 0; b < timeline.n_buckets; b++) {
        struct timeline_bucket bucket = timeline_read(&timeline, b, &cursor);
        uint64_t first_ns = (uint64_t)b << timeline.shift;
        uint64_t last_ns = first_ns + (UINT64_C(1) << timeline.shift) - 1;
        uint64_t peak = 0;
        uint64_t low = UINT64_MAX;
        for (int i = 0; i < N; i++) {
            uint64_t until_ns = i + 1 < N ? (uint64_t)(i + 1) * STEP - 1 : UINT64_MAX;
            if ((uint64_t)i * STEP > last_ns || until_ns < first_ns)
                continue;
            peak = live_at[i] > peak ? live_at[i] : peak;
            low = live_at[i] < low ? live_at[i] : low;
        }
        assert_int_equal(bucket.peak_bytes, peak);
        assert_int_equal(bucket.low_bytes, b == 0 ? 0 : low);
    }
    timeline_done(&timeline);
}

/* Leaks are reported at the end, in any order; widening keeps them at their allocation. */
TEST(leaks)
{
    enum {
        N = 5000,
        STEP = 977
    };

    struct timeline timeline;
    uint64_t leaked = 0;
    size_t cursor = 0;

    timeline_init(&timeline, START);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(timeline_advance(&timeline, START + i * STEP, i, i, NULL), 0);
        timeline_count_allocation(&timeline, &(struct sample_weight){.blocks = 1, .bytes = 1});
    }
    for (uint64_t i = N; i-- > 0;) {
        if (i % 3 == 0)
            timeline_count_leak(&timeline, START + i * STEP,
                                &(struct sample_weight){.blocks = 1, .bytes = 2});
        if (i == N / 2) /* the end of the process comes after some were reported */
            assert_int_equal(timeline_finish(&timeline, START + UINT64_C(9) * N * STEP, N, N, NULL),
                             0);
    }
    timeline_count_leak(&timeline, START - 100, &(struct sample_weight){.blocks = 1, .bytes = 2});
    for (size_t b = 0; b < timeline.n_buckets; b++) {
        uint64_t end_ns = (uint64_t)(b + 1) << timeline.shift;
        uint64_t last = (end_ns - 1) / STEP < N ? (end_ns - 1) / STEP : N - 1;
        struct timeline_bucket bucket = timeline_read(&timeline, b, &cursor);

        leaked += bucket.leaked_blocks;
        assert_int_equal(leaked, last / 3 + 2);
        assert_int_equal(bucket.leaked_bytes, 2 * bucket.leaked_blocks);
    }
    timeline_done(&timeline);
}

/* Timestamps of other threads may lie before the start. */
TEST(before_the_start)
{
    struct timeline timeline;

    timeline_init(&timeline, START);
    assert_int_equal(timeline_advance(&timeline, START - 500, 0, 0, NULL), 0);
    timeline_count_allocation(&timeline, &(struct sample_weight){.blocks = 1, .bytes = 5});
    assert_int_equal(timeline.kept[0].allocated_bytes, 5);
    timeline_done(&timeline);
}
