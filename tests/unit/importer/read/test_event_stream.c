/* SPDX-License-Identifier: MIT */
/* The order of events over segments, threads and processes. */
#include "tests/lib/log_builder.h"
#include "tests/lib/log_reading.h"
#include "tests/lib/unit.h"

#include <string.h>

#define START_NS 1000000000ull /* of the builder's process */

static struct log_builder *open_builder(const char *path, void **state)
{
    struct log_builder_options options = {.is_packed = *state != NULL, .zstd_level = 1};
    return log_builder_open(path, &options);
}

TESTS_WITH(log_reading_setup, log_reading_teardown);

/* Longer than segments are opened ahead of time, and the first event of its own one. */
TEST_TWICE(test_a_long_realloc_comes_when_it_began)
{
    const char *path = log_reading_path("long");
    struct log_builder *builder = open_builder(path, state);
    uint32_t a = log_builder_thread(builder, 1, NULL, START_NS);
    uint32_t b = log_builder_thread(builder, 2, NULL, START_NS);
    uint64_t side[] = {LOG_REALLOC_WIDE,         0x5000, LOG_CALL_REALLOC | 10000000ull << 8,
                       0x4000 /* the old one */, 20,     24};
    struct log_set *set;
    struct log_reading reading;

    log_builder_malloc(builder, a, START_NS + 1000, 0x1000, 10, 0);
    log_builder_malloc(builder, b, START_NS + 1100, 0x4000, 10, 0);
    log_builder_seal(builder, a);
    log_builder_realloc(builder, a, START_NS + 2000, START_NS + 10002000, 0x1000, 0x2000, 20, 0);
    log_builder_fallback(builder, a, START_NS + 10003000, side, 6);
    log_builder_malloc(builder, b, START_NS + 5000, 0x1000, 11, 0);
    log_builder_malloc(builder, b, START_NS + 6000, 0x4000, 11, 0);
    log_builder_close(builder);

    set = log_reading_open(path);
    reading = log_reading_events(set);
    assert_int_equal(reading.n_events, 8);
    assert_int_equal(reading.events[2].kind, EVENT_REALLOC_BEGIN);
    assert_int_equal(reading.events[2].time_ns, 2000);
    assert_int_equal(reading.events[3].kind, EVENT_REALLOC_BEGIN);
    assert_int_equal(reading.events[3].time_ns, 3000);
    assert_int_equal(reading.events[3].address, 0x4000);
    assert_int_equal(reading.events[4].kind, EVENT_ALLOC);
    assert_int_equal(reading.events[7].kind, EVENT_REALLOC_END);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_TIME], 0);
    log_set_close(set);
    free(reading.events);
}

TEST_TWICE(test_at_equal_stamps_the_free_comes_first)
{
    for (int order = 0; order < 2; order++) {
        const char *path = log_reading_path("equal");
        struct log_builder *builder = open_builder(path, state);
        uint32_t a = log_builder_thread(builder, 1, NULL, START_NS);
        uint32_t b = log_builder_thread(builder, 2, NULL, START_NS);
        struct log_reading reading;

        if (order == 0)
            log_builder_malloc(builder, a, START_NS + 9, 0x1000, 10, 0);
        log_builder_free(builder, b, START_NS + 9, 0x1000, 0);
        if (order == 1)
            log_builder_malloc(builder, a, START_NS + 9, 0x1000, 10, 0);
        log_builder_close(builder);

        reading = log_reading_log(path);
        assert_int_equal(reading.events[0].kind, EVENT_FREE);
        assert_int_equal(reading.events[1].kind, EVENT_ALLOC);
        free(reading.events);
    }
}

TEST_TWICE(test_time_needs_more_than_forty_bits)
{
    const char *path = log_reading_path("long");
    struct log_builder *builder = open_builder(path, state);
    uint32_t a = log_builder_thread(builder, 1, NULL, START_NS);
    struct log_reading reading;

    for (uint64_t i = 0; i < 100; i++)
        log_builder_malloc(builder, a, START_NS + i * (1ull << 38), 0x1000 + i, 1, 0);
    log_builder_close(builder);

    reading = log_reading_log(path);
    assert_int_equal(reading.n_events, 100);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(reading.events[i].time_ns, i * (1ull << 38));
    free(reading.events);
}

/* More threads together than whole segments are kept of. */
TEST_TWICE(test_very_many_threads_at_once)
{
    enum {
        N_THREADS = 1500,
        N_EVENTS = 2000000
    };

    const char *path = log_reading_path("many");
    struct log_builder *builder = open_builder(path, state);
    struct event_stream *stream;
    struct log_set *set;
    struct event event;
    uint64_t n = 0;

    for (uint32_t i = 0; i < N_THREADS; i++)
        log_builder_thread(builder, i, NULL, START_NS);
    for (uint64_t i = 0; i < N_EVENTS; i++)
        log_builder_malloc(builder, (uint32_t)(1 + i * 7919 % N_THREADS), START_NS + i,
                           (i + 1) << 4, i & 1023, 0);
    log_builder_close(builder);

    set = log_reading_open(path);
    assert_int_equal(event_stream_open(set, &stream, NULL), 0);
    for (; event_stream_next(stream, &event, NULL) == 1; n++) {
        assert_int_equal(event.time_ns, n);
        assert_int_equal(event.address, (n + 1) << 4);
        assert_int_equal(event.size, n & 1023);
        assert_int_equal(event.thread, 1 + n * 7919 % N_THREADS);
    }
    assert_int_equal(n, N_EVENTS);
    event_stream_close(stream);
    assert_int_equal(log_reading_damages(set), 0);
    log_set_close(set);
}

TEST_TWICE(test_side_records_are_sorted_in)
{
    const char *path = log_reading_path("side");
    struct log_builder *builder = open_builder(path, state);
    uint32_t a = log_builder_thread(builder, 1, NULL, START_NS);
    uint64_t alloc[] = {LOG_ALLOC, 0x7000, 24};
    uint64_t move[] = {LOG_REALLOC, 0x9000, 48, 0x7000 | 30ull << LOG_ADDRESS_BITS};
    uint64_t release[] = {LOG_FREE, 0x9000};
    struct log_reading reading;

    for (uint64_t i = 0; i < 100; i++)
        log_builder_malloc(builder, a, START_NS + 10 * i, 0x100 * (i + 1), i, 0);
    log_builder_fallback(builder, 0, START_NS + 901, release, 2);
    log_builder_fallback(builder, a, START_NS + 505, alloc, 3);
    log_builder_fallback(builder, a, START_NS + 545, move, 4);
    log_builder_close(builder);

    reading = log_reading_log(path);
    assert_int_equal(reading.n_events, 104);
    assert_int_equal(reading.events[51].address, 0x7000);
    assert_int_equal(reading.events[51].time_ns, 505);
    assert_int_equal(reading.events[51].thread, 1);
    assert_int_equal(reading.events[53].kind, EVENT_REALLOC_BEGIN);
    assert_int_equal(reading.events[53].time_ns, 515);
    assert_int_equal(reading.events[57].kind, EVENT_REALLOC_END);
    assert_int_equal(reading.events[57].time_ns, 545);
    assert_int_equal(reading.events[94].kind, EVENT_FREE);
    assert_int_equal(reading.events[94].thread, 2); /* the unknown one */
    free(reading.events);
}

/* A TSC at 2.5 GHz and CLOCK_MONOTONIC tell one time. */
TEST_TWICE(test_processes_with_different_clocks)
{
    struct log_builder_options tsc = {.is_packed = *state != NULL,
                                      .zstd_level = 1,
                                      .clock = LOG_CLOCK_TSC,
                                      .run_id = 2,
                                      .pid = 2,
                                      .start_ticks = 5000000000ull,
                                      .start_ns = START_NS + 1000};
    const char *paths[] = {log_reading_path("mono"), log_reading_path("tsc")};
    struct log_builder *mono = open_builder(paths[0], state);
    struct log_builder *other = log_builder_open(paths[1], &tsc);
    uint32_t a = log_builder_thread(mono, 1, NULL, START_NS);
    uint32_t b = log_builder_thread(other, 2, NULL, tsc.start_ticks);
    struct log_reading reading;
    struct log_set *set;

    for (uint64_t i = 0; i < 1000; i++) {
        log_builder_malloc(mono, a, START_NS + 2000 + 2000 * i, 0x1000 + i, 1, 0);
        log_builder_malloc(other, b, tsc.start_ticks + (2000 + 2000 * i) * 5 / 2, 0x1000 + i, 2, 0);
    }
    log_builder_header(other)->last_ticks = tsc.start_ticks + 25000000000ull;
    log_builder_header(other)->last_monotonic_ns = tsc.start_ns + 10000000000ull;
    log_builder_close(mono);
    log_builder_close(other);

    assert_int_equal(log_set_open(paths, 2, NULL, &set, NULL), 0);
    reading = log_reading_events(set);
    assert_int_equal(reading.n_events, 2000);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t expected = 2000 + 1000 * i;
        assert_int_equal(reading.events[i].process, 1 + i % 2);
        assert_in_range(reading.events[i].time_ns, expected - 1, expected);
    }
    assert_int_equal(log_set_definitions(set)->processes[2].start_ns, 1000);
    assert_int_equal(log_set_definitions(set)->processes[2].last_ns, 10000001000);
    free(reading.events);
    log_set_close(set);
}

/* A time that runs backwards is corrected, and counted; it is counted only once. */
TEST_TWICE(test_backward_time_is_repaired)
{
    const char *path = log_reading_path("backward");
    struct log_builder *builder = open_builder(path, state);
    uint32_t a = log_builder_thread(builder, 1, NULL, START_NS);
    struct log_reading reading;
    struct log_set *set;

    log_builder_malloc(builder, a, START_NS + 500, 1, 1, 0);
    log_builder_malloc(builder, a, START_NS + 400, 2, 1, 0);
    log_builder_malloc(builder, a, START_NS + 600, 3, 1, 0);
    log_builder_close(builder);

    set = log_reading_open(path);
    for (int pass = 0; pass < 3; pass++) {
        reading = log_reading_events(set);
        assert_int_equal(reading.n_events, 3);
        assert_int_equal(reading.events[1].address, 2);
        assert_int_equal(reading.events[1].time_ns, 500);
        assert_int_equal(reading.events[2].time_ns, 600);
        assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_TIME], 1);
        assert_int_equal(log_reading_damages(set), 1);
        free(reading.events);
    }
    log_set_close(set);
}

/* It began while another thread wrote into the segment that it took over: so it is with threads
 * that come and go. */
TEST_TWICE(test_a_realloc_may_begin_before_its_place)
{
    const char *path = log_reading_path("took_over");
    struct log_builder *builder = open_builder(path, state);
    uint32_t a = log_builder_thread(builder, 1, NULL, START_NS);
    uint32_t b = log_builder_thread(builder, 2, NULL, START_NS);

    log_builder_malloc(builder, a, START_NS + 100, 0x1000, 10, 0);
    log_builder_malloc(builder, a, START_NS + 500, 0x3000, 10, 0);
    log_builder_thread_end(builder, a, START_NS + 510);
    log_builder_realloc(builder, b, START_NS + 400, START_NS + 600, 0x1000, 0x2000, 20, 0);
    log_builder_close(builder);

    struct log_set *set = log_reading_open(path);
    struct log_reading reading = log_reading_events(set);
    assert_int_equal(reading.n_events, 4);
    assert_int_equal(reading.events[2].kind, EVENT_REALLOC_BEGIN);
    assert_int_equal(reading.events[2].time_ns, 500);
    assert_int_equal(reading.events[3].time_ns, 600);
    assert_int_equal(log_reading_damages(set), 0);
    log_set_close(set);
    free(reading.events);
}

/* EV-6: 2^15 blocks of 2^47 bytes are the maximum; more are reported as lost. */
TEST_TWICE(test_sums_are_bounded)
{
    enum {
        N = (1 << 15) + 3
    };

    const char *path = log_reading_path("sums");
    struct log_builder *builder = open_builder(path, state);
    uint32_t thread = log_builder_thread(builder, 1, NULL, START_NS);
    uint64_t wide[] = {LOG_ALLOC_WIDE, 0x1000, LOG_CALL_MALLOC, EVENT_MAX_BYTES, 0};
    struct log_set *set;
    struct log_reading reading;

    for (int i = 0; i < N; i++)
        log_builder_event(builder, thread, START_NS + 10, wide, 5);
    log_builder_free(builder, thread, START_NS + 20, 0x1000, 0);
    log_builder_fallback(builder, thread, START_NS + 30, wide, 5);
    log_builder_close(builder);
    set = log_reading_open(path);
    reading = log_reading_events(set);
    assert_int_equal(reading.n_events, (1 << 15) + 1);
    assert_true(reading.n_losses > 0);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_RECORD], 4);
    log_set_close(set);
    free(reading.events);
}

/* Events up to a mark; the code with which the stream ends. */
static int read_until(struct log_set *set, struct stream_state *kept, uint64_t mark,
                      size_t *n_events, size_t *n_losses)
{
    struct event_stream *stream;
    struct event event;
    struct error err;
    int more;

    assert_int_equal(event_stream_resume(set, kept, mark, &stream, &err), 0);
    while ((more = event_stream_next(stream, &event, &err)) > 0)
        ++*(event.kind == EVENT_LOST ? n_losses : n_events);
    event_stream_close(stream);
    return more;
}

/* An impossible record, in a segment that is read in two parts, before their border. */
TEST_TWICE(test_what_cannot_be_is_lost_at_a_mark_too)
{
    const uint64_t mark = UINT64_C(20) << CLOCK_MAP_FRACTION_BITS;
    const char *path = log_reading_path("mark");
    struct log_builder *builder = open_builder(path, state);
    uint32_t thread = log_builder_thread(builder, 1, NULL, START_NS);
    uint64_t wide[] = {LOG_ALLOC_WIDE, 0x3000, LOG_CALL_MALLOC, EVENT_MAX_BYTES + 1, 0};
    struct stream_state sole = {.mark = 0};
    size_t n_events = 0;
    size_t n_losses = 0;
    struct log_set *set;

    log_builder_malloc(builder, thread, START_NS + 10, 0x1000, 10, 0);
    log_builder_event(builder, thread, START_NS + 15, wide, 5);
    log_builder_malloc(builder, thread, START_NS + 30, 0x2000, 10, 0);
    log_builder_close(builder);

    set = log_reading_open(path);
    assert_int_equal(read_until(set, &sole, mark, &n_events, &n_losses), 0);
    assert_int_equal(n_events, 1);
    assert_int_equal(n_losses, 1);
    assert_int_equal(sole.n_impossible, 1);
    assert_int_equal(read_until(set, &sole, UINT64_MAX, &n_events, &n_losses), 0);
    assert_int_equal(n_events, 2);
    assert_int_equal(n_losses, 1);
    assert_int_equal(log_set_damage(set)->count[LOG_DAMAGE_RECORD], 1);
    log_set_close(set);
    stream_state_done(&sole);
}
