/* SPDX-License-Identifier: MIT */
/* Which blocks are elided, and which stay because they may have been read (PG-5), or because a time
 * was requested (PG-6). */
#include "lib/base/clock_pair.h"
#include "lib/base/monotonic.h"
#include "recorder/session/recording.h"
#include "tests/lib/unit.h"
#include "tests/unit/recorder/fake_collector.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    N_PAIRS = 1000,
    PAIR_NS = 20,
    PAIR_WORDS = 5,
    ADDRESS = 0x1000,
    AGE_NS = 2000000000, /* of the process */
};

static struct follower_process follower;
static const struct recording_settings settings = {
    .force = true, .max_live_bytes = 1 << 30, .elide_ns = 1000000000, .follower = &follower};

static char folder[] = "/tmp/mtrace-test-steady-XXXXXX";
static char path[64];
static char live_path[64];

struct fixture {
    struct fake_collector fake;
    struct recording *recording;
};

static uint64_t watermark_of(struct fixture *fixture)
{
    return live_log_packing(&fixture->fake.log)->watermark_ticks;
}

static void step(struct fixture *fixture)
{
    uint32_t n_packed;

    assert_int_equal(recording_step(fixture->recording, 1, &n_packed, NULL), 0);
}

static int begin(void **state)
{
    static struct fixture fixture;
    struct log_header *file;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.dat", folder);
    (void)snprintf(live_path, sizeof(live_path), "%s/run.dat.live", folder);
    assert_int_equal(recording_create(path, getpid(), &settings, &fixture.recording, NULL), 0);
    fake_collector_attach(&fixture.fake, live_path);
    file = fixture.fake.log.file;
    file->last_ticks = file->last_monotonic_ns = monotonic_now_ns();
    file->start_ticks = file->start_monotonic_ns = file->last_ticks - AGE_NS;
    atomic_store(&file->n_threads, 1);
    fake_collector_node(&fixture.fake);
    assert_int_equal(watermark_of(&fixture), 1); /* nothing is certain yet */
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    recording_discard(fixture->recording);
    recording_free(fixture->recording);
    fake_collector_detach(&fixture->fake);
    assert_int_equal(rmdir(folder), 0);
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    return 0;
}

/* A segment that a thread fills from this time on. */
static void begin_segment(struct fixture *fixture, uint64_t first_ns)
{
    struct fake_collector *fake = &fixture->fake;

    fake_collector_event(fake);
    fake->events->base_ticks = fake->events->base_monotonic_ns = first_ns;
}

/* Fills it with blocks that are freed immediately; sealed. */
static void fill_segment(struct fixture *fixture)
{
    struct fake_collector *fake = &fixture->fake;
    uint64_t *words = (uint64_t *)(void *)((uint8_t *)fake->events + LOG_SEGMENT_HEADER_BYTES);

    for (uint64_t i = 0; i < N_PAIRS; i++, words += PAIR_WORDS) {
        words[0] = LOG_ALLOC | (i * PAIR_NS) << 8 | (uint64_t)LOG_NODE_FIRST << 32;
        words[1] = ADDRESS;
        words[2] = 64;
        words[3] = LOG_FREE | (i * PAIR_NS + PAIR_NS / 2) << 8 | (uint64_t)LOG_NODE_FIRST << 32;
        words[4] = ADDRESS;
    }
    atomic_store(&fake->events->committed_bytes, N_PAIRS * PAIR_WORDS * 8);
    fake_collector_seal(fake);
}

static void write_pairs(struct fixture *fixture, uint64_t first_ns)
{
    begin_segment(fixture, first_ns);
    fill_segment(fixture);
}

/* Blocks of such a segment that are elided. */
static uint64_t n_elided_of(struct fixture *fixture, uint64_t first_ns)
{
    uint64_t n_before = fixture->recording->packing->n_elided;

    write_pairs(fixture, first_ns);
    step(fixture);
    return fixture->recording->packing->n_elided - n_before;
}

/* Of current events, a little after a requested time. */
static void assert_elided(struct fixture *fixture)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    nanosleep(&pause, NULL);
    assert_in_range(n_elided_of(fixture, monotonic_now_ns()), N_PAIRS / 4, N_PAIRS);
}

TEST_WITH(new_segments_are_elided, begin, end)
{
    struct fixture *fixture = *state;

    step(fixture);
    assert_elided(fixture);
}

TEST_WITH(segments_that_may_have_been_read_are_not_elided, begin, end)
{
    struct fixture *fixture = *state;

    fixture->recording->packing->hold_ns = 0; /* as if it began before these segments */
    step(fixture);
    uint64_t watermark = watermark_of(fixture);
    assert_in_range(watermark, monotonic_now_ns() - 2 * PACKING_WATERMARK_NS, monotonic_now_ns());
    assert_int_equal(n_elided_of(fixture, watermark - N_PAIRS * PAIR_NS - 1), 0);
    assert_true(watermark_of(fixture) >= watermark);
}

/* Waiting segments are elided though they are old, but not those that were already reported to
 * stay. */
TEST_WITH(waiting_segments_are_elided, begin, end)
{
    struct fixture *fixture = *state;

    fixture->recording->packing->hold_ns = 0; /* as if it began before these segments */

    assert_in_range(n_elided_of(fixture, monotonic_now_ns() - 2 * PACKING_WATERMARK_NS),
                    N_PAIRS / 4, N_PAIRS);
    assert_int_equal(n_elided_of(fixture, monotonic_now_ns() - 3 * PACKING_WATERMARK_NS), 0);
    assert_int_equal(n_elided_of(fixture, monotonic_now_ns() - 2 * PACKING_MAX_WATERMARK_NS), 0);
}

/* A thread may need long to fill a segment: without requests its blocks are elided all the same. */
TEST_WITH(slow_segments_are_elided_until_a_request, begin, end)
{
    struct fixture *fixture = *state;

    fixture->recording->packing->hold_ns = 0; /* as if it began before these segments */
    for (int has_request = 0; has_request < 2; has_request++) {
        uint64_t first_ns = monotonic_now_ns() - 3 * PACKING_WATERMARK_NS;
        uint64_t n_before = fixture->recording->packing->n_elided;
        begin_segment(fixture, first_ns);
        recording_hold_until(fixture->recording, (uint64_t)has_request);
        step(fixture);
        assert_true(has_request ? watermark_of(fixture) > first_ns + PACKING_WATERMARK_NS
                                : watermark_of(fixture) < first_ns);
        fill_segment(fixture);
        step(fixture);
        assert_int_equal(fixture->recording->packing->n_elided - n_before,
                         has_request ? 0 : N_PAIRS);
    }
}

/* A log from before its recorder (a child's): an earlier reader did not know that it would be
 * elided. */
TEST_WITH(segments_from_before_the_recorder_are_not_elided, begin, end)
{
    struct fixture *fixture = *state;
    uint64_t begun_ns = fixture->recording->packing->hold_ns;

    step(fixture);
    assert_int_equal(n_elided_of(fixture, begun_ns - N_PAIRS * PAIR_NS), 0);
    assert_true(watermark_of(fixture) >= begun_ns);
}

/* The program read its clocks long ago, and not well. */
TEST_WITH(a_requested_time_is_held_after_a_pause, begin, end)
{
    const struct timespec moment = {.tv_nsec = 1000000}, pause = {.tv_nsec = 200000000};
    struct fixture *fixture = *state;
    struct log_header *file = fixture->fake.log.file;
    uint64_t ticks, ns, ticks_after, ns_after;

    file->clock = LOG_CLOCK_TSC;
    log_file_set_machine(file);
    if (!clock_pair_read(file, &file->start_ticks, &file->start_monotonic_ns))
        skip();
    nanosleep(&moment, NULL);
    assert_true(clock_pair_read(file, &file->last_ticks, &file->last_monotonic_ns));
    file->last_monotonic_ns += 5000;
    write_pairs(fixture, 0);
    nanosleep(&pause, NULL);
    assert_true(clock_pair_read(file, &ticks, &ns));
    recording_hold_until(fixture->recording, ns);
    step(fixture);
    assert_true(clock_pair_read(file, &ticks_after, &ns_after));
    assert_in_range(watermark_of(fixture), ticks, 2 * ticks_after - ticks + 1000000);
}

TEST_WITH(nothing_is_elided_before_a_requested_time, begin, end)
{
    struct fixture *fixture = *state;
    uint64_t instant_ns = monotonic_now_ns();

    step(fixture);
    recording_hold_until(fixture->recording, instant_ns);
    assert_int_equal(n_elided_of(fixture, instant_ns - N_PAIRS * PAIR_NS / 2) / (N_PAIRS / 2 + 1),
                     0);
    assert_true(watermark_of(fixture) >= instant_ns);
    assert_elided(fixture);
}

/* The time between the stamp of the program's marker and the arrival of its request. */
TEST_WITH(nothing_is_elided_while_a_marker_may_come, begin, end)
{
    struct fixture *fixture = *state;
    struct log_mailbox *request = live_log_mailbox(&fixture->fake.log);

    step(fixture);
    atomic_store(&request->phase, LOG_REQUEST_TURN);
    assert_int_equal(n_elided_of(fixture, monotonic_now_ns()), 0);
    uint64_t marker_ns = monotonic_now_ns();
    assert_int_equal(n_elided_of(fixture, marker_ns - N_PAIRS * PAIR_NS), 0);
    assert_true(watermark_of(fixture) >= marker_ns);
    atomic_store(&request->phase, LOG_REQUEST_POSTED);
    assert_elided(fixture);
}
