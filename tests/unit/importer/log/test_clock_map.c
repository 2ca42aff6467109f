/* SPDX-License-Identifier: MIT */
/* Ticks to nanoseconds: the rate, its drift, disturbed readings, and never backwards. */
#include "importer/log/clock_map.h"
#include "tests/lib/unit.h"

#include <inttypes.h>

#define SECOND 1000000000ull

static struct clock_map make(const struct clock_pair *pairs, size_t n, uint64_t default_rate)
{
    struct clock_map map;

    clock_map_init(&map, false);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(clock_map_add(&map, pairs[i].ticks, pairs[i].ns), 0);
    bool is_late;
    assert_int_equal(clock_map_make(&map, default_rate, &is_late), 0);
    assert_false(is_late);
    return map;
}

/* The rate changes by 100 ppm half way, as a clock being slewed does. */
TEST(test_drift_is_followed)
{
    struct clock_pair pairs[201];
    struct clock_map map;

    for (uint64_t i = 0; i <= 200; i++) {
        pairs[i].ticks = SECOND + i * SECOND;
        pairs[i].ns = SECOND + i * SECOND / 2 + (i > 100 ? (i - 100) * 50000 : 0);
    }
    map = make(pairs, 201, 1);
    for (uint64_t i = 0; i <= 200; i++) {
        uint64_t ns = clock_map_ns(&map, pairs[i].ticks);
        assert_in_range(ns, pairs[i].ns - 60000, pairs[i].ns + 60000);
    }
    clock_map_done(&map);
}

/* A reading interrupted for 5 ms between its clocks does not bend the map by as much. */
TEST(test_late_readings_are_left_out)
{
    struct clock_pair pairs[1000];
    struct clock_map map;

    for (uint64_t i = 0; i < 1000; i++) {
        pairs[i].ticks = SECOND + i * SECOND / 50; /* 25 a second at 2 ticks per ns */
        pairs[i].ns = SECOND + i * SECOND / 100 + (i % 7 == 3 ? 5000000 : 0);
    }
    map = make(pairs, 1000, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t right = SECOND + i * SECOND / 100;
        assert_in_range(clock_map_ns(&map, pairs[i].ticks), right - 1000, right + 1000);
    }
    clock_map_done(&map);
}

/* For any pairs, time does not run backwards, and there are few knots. */
TEST(test_never_backwards)
{
    uint64_t random = 1;

    for (int round = 0; round < 200; round++) {
        struct clock_pair pairs[50];
        struct clock_cursor cursor = {0};
        struct clock_map map;
        uint64_t before = 0;
        for (size_t i = 0; i < 50; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            pairs[i].ticks = random >> (round % 60);
            random = random * 6364136223846793005u + 1442695040888963407u;
            pairs[i].ns = random >> (round * 7 % 60);
        }
        map = make(pairs, 50, 1);
        assert_in_range(map.n_knots, 1, 51);
        for (uint64_t i = 0; i < 2000; i++) {
            uint64_t time =
                clock_map_fixed_ns(&map, &cursor, (UINT64_MAX >> (round % 60)) / 2000 * i);
            assert_true(time >= before);
            before = time;
        }
        clock_map_done(&map);
    }
}

/* Readings of a log that grows: some seconds of four threads, a few of them late, in the order of
 * writing. */
static size_t make_readings(struct clock_pair *pairs, size_t n, uint64_t *random)
{
    uint64_t ns = SECOND;

    for (size_t i = 0; i < n; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        ns += (*random >> 33) % (SECOND / 3);
        pairs[i].ticks = 3 * ns + SECOND;
        pairs[i].ns = ns + ((*random >> 20) % 5 == 0 ? (*random >> 25) % 3000000 : 0);
    }
    return n;
}

/* CM-4: final parts do not change, and in the end the map is that of all pairs together. */
TEST(test_made_bit_by_bit)
{
    uint64_t random = 7;

    for (int round = 0; round < 300; round++) {
        struct clock_pair pairs[120];
        struct clock_map map;
        struct clock_map whole;
        uint64_t n_final = 0;
        bool is_late;
        size_t n = make_readings(pairs, 120, &random);
        clock_map_init(&map, false);
        whole = make(pairs, n, 1);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(clock_map_add(&map, pairs[i].ticks, pairs[i].ns), 0);
            clock_map_set_last(&map, pairs[i].ticks + 5, pairs[i].ns + 3);
            random = random * 6364136223846793005u + 1442695040888963407u;
            if ((random >> 33) % 5 && i + 1 < n)
                continue;
            assert_int_equal(clock_map_make(&map, 1, &is_late), 0);
            assert_false(is_late);
            assert_true(map.final_ticks >= n_final);
            assert_true(map.final_ticks <= pairs[i].ticks);
            n_final = map.final_ticks;
            for (uint64_t k = 0; n_final && k <= 200; k++) {
                uint64_t ticks = n_final / 200 * k;
                assert_int_equal(clock_map_ns(&map, ticks), clock_map_ns(&whole, ticks));
            }
        }
        assert_true(n_final > pairs[n / 2].ticks);
        clock_map_set_last(&map, 0, 0);
        assert_int_equal(clock_map_make(&map, 1, &is_late), 0);
        assert_int_equal(map.n_knots, whole.n_knots);
        for (size_t i = 0; i < map.n_knots; i++) {
            assert_int_equal(map.knots[i].ns, whole.knots[i].ns);
            assert_int_equal(map.knots[i].rate, whole.knots[i].rate);
        }
        assert_int_equal(clock_map_add(&map, map.pairs[1].ticks + 1, 2 * SECOND), 0);
        assert_int_equal(clock_map_make(&map, 1, &is_late), 0);
        assert_true(is_late);
        clock_map_done(&map);
        clock_map_done(&whole);
    }
}

/* CM-4, and what breaks it: a pair that was written down seconds after it was read. */
TEST(test_digest_of_what_is_final)
{
    struct clock_map early, later, late;
    struct clock_map *const maps[] = {&early, &later, &late};
    bool is_late;

    for (int m = 0; m < 3; m++) {
        clock_map_init(maps[m], false);
        for (uint64_t i = 1; i <= (m == 1 ? 90u : 60u); i++) /* each is read 500 to 900 ns late */
            assert_int_equal(
                clock_map_add(maps[m], i * 300000000, i * 100000000 + 500 + i % 5 * 100), 0);
    }
    assert_int_equal(clock_map_add(&late, 8250000000, 2750000000), 0);
    for (int m = 0; m < 3; m++)
        assert_int_equal(clock_map_make(maps[m], 0, &is_late), 0);
    uint64_t digest = clock_map_digest(&early, early.final_ticks);
    assert_true(early.final_ticks > 8250000000 && later.final_ticks > early.final_ticks);
    assert_true(clock_map_digest(&later, early.final_ticks) == digest);
    assert_true(clock_map_digest(&late, early.final_ticks) != digest);
    for (int m = 0; m < 3; m++)
        clock_map_done(maps[m]);
}

/* A saved map is put before later readings; its pairs may be lost, and old parts are coarser. */
TEST(test_past)
{
    enum {
        N = 5 * CLOCK_PAST_MAX / 2
    };

    struct clock_pair *pairs = calloc(N, sizeof *pairs);
    struct clock_past past = {0};
    struct clock_map later;
    bool is_late;

    assert_non_null(pairs);
    for (size_t i = 0; i < N; i++)
        pairs[i] = (struct clock_pair){.ticks = (i + 1) * 75000000,
                                       .ns = SECOND + (i + 1) * 25000000 + i % 7 * 3};
    struct clock_map whole = make(pairs, N, 1);
    struct clock_map half = make(pairs, N / 2, 1);
    assert_int_equal(clock_past_take(&past, &half, UINT64_MAX), 0);
    assert_true(past.n_closed <= CLOCK_PAST_MAX && past.pairs[0].ticks == pairs[0].ticks);
    clock_map_init(&later, false);
    for (size_t i = N / 2 - 3; i < N; i++)
        assert_int_equal(clock_map_add(&later, pairs[i].ticks, pairs[i].ns), 0);
    assert_int_equal(clock_map_put_past(&later, &past), 0);
    assert_int_equal(clock_map_make(&later, 1, &is_late), 0);
    assert_false(is_late);
    assert_int_equal(clock_past_digest(&past, past.pairs[past.n_closed - 1].ticks),
                     clock_map_digest(&later, past.pairs[past.n_closed - 1].ticks));
    for (size_t i = 0; i < N; i++) {
        uint64_t is = clock_map_ns(&later, pairs[i].ticks);
        uint64_t was = clock_map_ns(&whole, pairs[i].ticks);
        assert_in_range(is, i < N / 2 ? was - 100 : was, i < N / 2 ? was + 100 : was);
    }
    clock_past_done(&past);
    clock_map_done(&half);
    clock_map_done(&later);
    clock_map_done(&whole);
    free(pairs);
}

/* CM-5: later readings, and any watermark, do not change the part before the watermark. */
TEST(test_past_at_a_mark)
{
    uint64_t random = 11;
    unsigned n_due = 0;

    for (int round = 0; round < 300; round++) {
        struct clock_pair pairs[120];
        struct clock_past past = {0};
        struct clock_map early, later;
        bool is_late;
        size_t n = make_readings(pairs, 120, &random);
        size_t n_early = 1 + (random >> 33) % (n - 1);
        clock_map_init(&early, false);
        for (size_t i = 0; i < n_early; i++)
            assert_int_equal(clock_map_add(&early, pairs[i].ticks, pairs[i].ns), 0);
        unsigned shift = round % 2 ? 12 : 0;
        clock_map_round(&early, shift);
        assert_int_equal(clock_map_make(&early, 1, &is_late), 0);
        uint64_t newest = pairs[n_early - 1].ticks;
        uint64_t mark_ticks = newest + (round % 3 ? random % (6 * SECOND) : 0);
        struct clock_cursor cursor = {0};
        uint64_t mark = clock_map_fixed_ns(&early, &cursor, mark_ticks);
        n_due += clock_past_is_due(&early, mark);
        assert_int_equal(clock_past_take(&past, &early, mark), 0);
        clock_map_init(&later, false);
        for (size_t i = n_early; i < n; i++)
            assert_int_equal(clock_map_add(&later, pairs[i].ticks, pairs[i].ns), 0);
        clock_map_round(&later, shift);
        assert_int_equal(clock_map_put_past(&later, &past), 0);
        assert_int_equal(clock_map_make(&later, 1, &is_late), 0);
        cursor = (struct clock_cursor){0};
        for (uint64_t i = 1; i <= 5000; i++) {
            uint64_t ticks = (mark_ticks + i * i) & UINT64_MAX << shift;
            if (clock_map_fixed_ns(&early, &(struct clock_cursor){0}, ticks) <= mark)
                continue;
            if (clock_map_fixed_ns(&later, &cursor, ticks) < mark)
                fail_msg("round %d: %" PRIu64 " ticks behind the mark are before it", round, i * i);
        }
        clock_past_done(&past);
        clock_map_done(&early);
        clock_map_done(&later);
    }
    assert_in_range(n_due, 200, 300);
}
