/* SPDX-License-Identifier: MIT */
/* Rows with a limit per kind: the first events are kept, and samples at growing distances, the
 * highest among them. */
#include "importer/totals/row_spool.h"
#include "tests/lib/unit.h"

enum {
    MOST = 100,
    N = 5000,
    HIGHEST = 1234,
    N_PROCESSES = 2,
    MANY = 60,          /* processes, more than half of MOST */
    MANY_N = 4096 + 30, /* samples of them, a little behind a slot */
};

struct reported {
    uint64_t n_events, n_samples, last_ns[MANY + 1];
    uint64_t highest;
    uint64_t n_early; /* of the first tenth of the time */
};

static int on_event(void *context, const struct event *event, struct error *err)
{
    struct reported *reported = context;

    (void)err;
    assert_int_equal(event->time_ns, reported->n_events++); /* the first ones, in order */
    return 0;
}

static int on_memory(void *context, const struct memory_sample *sample, struct error *err)
{
    struct reported *reported = context;

    (void)err;
    assert_true(sample->time_ns > reported->last_ns[sample->process]);
    reported->last_ns[sample->process] = sample->time_ns;
    reported->n_samples++;
    reported->n_early += sample->time_ns <= N / 10;
    if (sample->rss_bytes > reported->highest)
        reported->highest = sample->rss_bytes;
    return 0;
}

static uint64_t count_left_out(const struct row_spool *kept)
{
    const char *name;
    uint64_t n = 0;

    for (unsigned kind = 0; kind < ROW_SPOOL_KINDS; kind++) {
        n += row_spool_n_left_out(kept, kind, &name);
        assert_non_null(name);
    }
    return n;
}

TEST(bounded)
{
    static uint32_t zero[1];
    const struct statistics_ids ids = {.threads = zero, .backtraces = zero, .pools = zero};
    struct reported reported = {0};
    const struct row_sink last = {.context = &reported, .event = on_event, .memory = on_memory};
    struct row_spool *kept;

    assert_int_equal(row_spool_new("/tmp/kept", &kept, NULL), 0);
    row_spool_bound(kept, MOST);
    struct row_sink sink = row_spool_sink(kept);
    for (uint64_t i = 0; i < N; i++) {
        const struct event event = {.time_ns = i, .kind = EVENT_MALLOPT, .process = 1};
        const struct memory_sample sample = {.process = 1 + (uint32_t)(i % N_PROCESSES),
                                             .time_ns = i + 1,
                                             .rss_bytes = i == HIGHEST ? 99999 : i};
        assert_int_equal(sink.event(sink.context, &event, NULL), 0);
        assert_int_equal(sink.memory(sink.context, &sample, NULL), 0);
    }
    uint64_t n_left_out = count_left_out(kept);
    assert_int_equal(row_spool_emit(kept, &last, &ids, NULL), 0);
    assert_int_equal(reported.n_events, MOST);
    assert_in_range(reported.n_samples, MOST / 4, MOST);
    assert_in_range(reported.n_early, reported.n_samples / 12, reported.n_samples / 8);
    assert_int_equal(reported.highest, 99999);
    assert_int_equal(n_left_out, 2 * N - reported.n_events - reported.n_samples);
    row_spool_free(kept);
}

static struct reported emit_samples(uint64_t n, uint32_t n_processes)
{
    static uint32_t zero[1];
    const struct statistics_ids ids = {.threads = zero, .backtraces = zero, .pools = zero};
    struct reported reported = {0};
    const struct row_sink last = {.context = &reported, .memory = on_memory};
    struct row_spool *kept;

    assert_int_equal(row_spool_new("/tmp/kept", &kept, NULL), 0);
    row_spool_bound(kept, MOST);
    struct row_sink sink = row_spool_sink(kept);
    for (uint64_t i = 0; i < n; i++) {
        const struct memory_sample sample = {
            .process = 1 + (uint32_t)(i % n_processes), .time_ns = i + 1, .rss_bytes = 1};
        assert_int_equal(sink.memory(sink.context, &sample, NULL), 0);
    }
    assert_int_equal(row_spool_emit(kept, &last, &ids, NULL), 0);
    row_spool_free(kept);
    return reported;
}

TEST(the_last_of_equal_ones)
{
    assert_int_equal(emit_samples(N, 1).last_ns[1], N);
}

TEST(many_processes)
{
    struct reported reported = emit_samples(MANY_N, MANY);

    assert_in_range(reported.n_samples, MANY + 1, MOST); /* one each, and what came since */
}
