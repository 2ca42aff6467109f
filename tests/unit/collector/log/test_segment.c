/* SPDX-License-Identifier: MIT */
/* The pool of segments: taking, returning, growing, and lack of space. */
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/log_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MIB = 1 << 20
};

static struct log_fixture g_log;

static int close_log(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

TEST_WITH(filling_is_fresh, NULL, close_log)
{
    struct log_segment *segment;
    struct log_segment *again;

    log_fixture_open(&g_log, 1, 0);
    segment = segment_take(LOG_SEGMENT_EVENTS);
    assert_non_null(segment);
    assert_int_equal(segment->state, LOG_STATE_FILLING);
    assert_int_equal(segment->sequence, 1);
    assert_int_equal(segment->run_id, LOG_FIXTURE_RUN_ID);
    memset(segment_payload(segment), 0xab, LOG_SEGMENT_PAYLOAD_BYTES);
    segment->committed_bytes = 4096;
    segment_give_back(segment);

    again = segment_take(LOG_SEGMENT_DEFS);
    assert_ptr_equal(again, segment);
    assert_int_equal(again->sequence, 2);
    assert_int_equal(again->committed_bytes, 0);
    assert_int_equal(again->reserved_bytes, 0);
    for (size_t i = 0; i < LOG_SEGMENT_PAYLOAD_BYTES; i++)
        assert_int_equal(segment_payload(again)[i], 0);
}

static struct log_segment *g_zeroed;
static bool g_was_named;

/* A reader of a segment that is being zeroed sees by the sequence that it has new contents. */
void *__wrap_memset(void *bytes, int value, size_t n_bytes);
void *__real_memset(void *bytes, int value, size_t n_bytes);

void *__wrap_memset(void *bytes, int value, size_t n_bytes)
{
    if (g_zeroed && bytes == segment_payload(g_zeroed) && n_bytes == LOG_SEGMENT_PAYLOAD_BYTES)
        g_was_named = g_zeroed->sequence != 0;
    return __real_memset(bytes, value, n_bytes);
}

TEST_WITH(a_filling_that_is_being_zeroed_has_no_name, NULL, close_log)
{
    log_fixture_open(&g_log, 1, 0);
    g_zeroed = segment_take(LOG_SEGMENT_DEFS);
    assert_int_equal(g_zeroed->sequence, 1);
    segment_give_back(g_zeroed);
    g_was_named = true;
    assert_ptr_equal(segment_take(LOG_SEGMENT_FALLBACK), g_zeroed);
    assert_false(g_was_named);
    assert_int_equal(g_zeroed->sequence, 2);
    g_zeroed = NULL;
}

TEST_WITH(a_long_call_is_the_base_of_its_segment, NULL, close_log)
{
    uint64_t now = clock_ticks_after();
    struct log_segment *early;
    struct log_segment *fresh;

    log_fixture_open(&g_log, 2, 0);
    early = segment_take_events(now - LOG_EARLY_TICKS - 1);
    assert_int_equal(early->base_ticks, now - LOG_EARLY_TICKS - 1);
    assert_int_equal(early->base_monotonic_ns, 0);
    fresh = segment_take_events(SEGMENT_FROM_NOW);
    assert_true(fresh->base_ticks >= now);
    assert_true(fresh->base_monotonic_ns > 0);
}

TEST_WITH(events_leave_no_room_for_late_fallback_writers, NULL, close_log)
{
    struct log_segment *segment;

    log_fixture_open(&g_log, 1, 0);
    segment = segment_take(LOG_SEGMENT_EVENTS);
    assert_true(segment->reserved_bytes >= LOG_SEGMENT_PAYLOAD_BYTES);
}

/* It found the segment while that was still the current one of its kind. */
TEST_WITH(definitions_leave_no_room_for_late_fallback_writers, NULL, close_log)
{
    struct segment_shared shared = {.kind = LOG_SEGMENT_FALLBACK};
    struct log_segment *late;
    struct log_segment *found;

    log_fixture_open(&g_log, 1, 0);
    late = segment_take(LOG_SEGMENT_DEFS);
    atomic_store(&shared.current, late);
    assert_ptr_not_equal(segment_reserve(&shared, sizeof(struct log_fallback_record), &found),
                         segment_payload(late));
    assert_int_equal(late->reserved_bytes, 0);
}

/* A segment that cannot be replaced stays the current one; failed attempts must not wrap around. */
TEST_WITH(a_full_segment_has_no_room_again, NULL, close_log)
{
    struct segment_shared shared = {.kind = LOG_SEGMENT_FALLBACK};
    struct log_segment *segment;
    struct log_segment *full;

    enum {
        RECORD_BYTES = 64,
        N_RECORDS = LOG_SEGMENT_PAYLOAD_BYTES / RECORD_BYTES
    };

    log_fixture_open(&g_log, 1, 0);
    for (unsigned i = 0; i < N_RECORDS; i++)
        assert_non_null(segment_reserve(&shared, RECORD_BYTES, &full));
    for (unsigned i = 0; i < 1000; i++)
        assert_null(segment_reserve(&shared, RECORD_BYTES, &segment));
    assert_true(full->reserved_bytes > LOG_SEGMENT_PAYLOAD_BYTES); /* the recorder looks at it */
    assert_true(full->reserved_bytes <= LOG_SEGMENT_PAYLOAD_BYTES + RECORD_BYTES);
}

/* SG-6: a fork child continues in the middle of an event that fills its segment. */
TEST_WITH(a_fork_child_without_a_log_ends_cleanly, NULL, close_log)
{
    struct log_segment *full;
    struct log_segment *partial;

    log_fixture_open(&g_log, 1, 16 * MIB);
    full = segment_take(LOG_SEGMENT_EVENTS);
    partial = segment_take(LOG_SEGMENT_EVENTS);
    segment_replace_mappings();
    assert_int_equal(full->state, LOG_STATE_FREE);
    segment_seal(full);
    segment_put_partial(partial);
    assert_null(segment_take(LOG_SEGMENT_EVENTS));
    assert_int_equal(segment_drop_reason(), LOG_DROP_LIMIT);
}

/* Exceeding the limit would raise SIGXFSZ, whose default action ends the test. */
TEST_WITH(stops_before_the_file_size_limit, NULL, close_log)
{
    struct rlimit old;
    struct rlimit small;

    log_fixture_open(&g_log, 1, 16 * MIB);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){LOG_FILE_HEADER_BYTES + 3 * LOG_SEGMENT_BYTES, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_non_null(segment_take(LOG_SEGMENT_EVENTS));
    assert_null(segment_take(LOG_SEGMENT_EVENTS));
    assert_int_equal(segment_drop_reason(), LOG_DROP_NO_SPACE);
    setrlimit(RLIMIT_FSIZE, &old);
    /* The first retry is free, so space that came back is used again soon. */
    assert_null(segment_take(LOG_SEGMENT_EVENTS));
    assert_non_null(segment_take(LOG_SEGMENT_EVENTS));
}

TEST_WITH(never_grows_into_another_file, NULL, close_log)
{
    int fd;

    log_fixture_open(&g_log, 1, 16 * MIB);
    assert_non_null(segment_take(LOG_SEGMENT_EVENTS));
    unlink(g_log.path);
    fd = open(g_log.path, O_CREAT | O_EXCL | O_RDWR, 0600);
    assert_true(fd >= 0);
    assert_null(segment_take(LOG_SEGMENT_EVENTS));
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    close(fd);
}

enum {
    N_THREADS = 4,
    N_ROUNDS = 20000,
    N_SHARED = 3
};

static _Atomic uint32_t g_owners[64];
static _Atomic uint32_t g_n_conflicts;

/* Every segment is held by one thread at a time, also under contention. */
static void *take_and_give(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        struct log_segment *segment = segment_take(LOG_SEGMENT_EVENTS);
        if (!segment)
            continue;
        if (atomic_fetch_add(&g_owners[segment->index], 1) != 0)
            atomic_fetch_add(&g_n_conflicts, 1);
        atomic_fetch_sub(&g_owners[segment->index], 1);
        if (i % 3 == 0) {
            segment_put_partial(segment);
            segment = segment_take_partial();
            if (!segment)
                continue;
        }
        segment_give_back(segment);
    }
    return NULL;
}

TEST_WITH(a_segment_has_one_owner, NULL, close_log)
{
    pthread_t threads[N_THREADS];
    unsigned n_left = 0;

    log_fixture_open(&g_log, N_SHARED, 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(g_n_conflicts, 0);
    while (segment_take_partial())
        n_left++;
    while (segment_take(LOG_SEGMENT_EVENTS))
        n_left++;
    assert_int_equal(n_left, N_SHARED);
}

enum {
    N_GROWN = 1500
};

static atomic_bool g_is_over;
static atomic_uint g_n_taken;

/* Free space varies, as on a shared disk. */
static void *change_limit(void *large)
{
    const struct rlimit *old = large;
    const struct rlimit none = {LOG_FILE_HEADER_BYTES, old->rlim_max};

    while (!g_is_over) {
        setrlimit(RLIMIT_FSIZE, &none);
        sched_yield();
        setrlimit(RLIMIT_FSIZE, old);
        sched_yield();
    }
    return NULL;
}

static void *take_all(void *unused)
{
    (void)unused;
    while (g_n_taken < N_GROWN) {
        struct log_segment *segment = segment_take(LOG_SEGMENT_EVENTS);
        if (!segment)
            continue;
        if (g_n_taken++ % 16 == 0)
            memset(segment_payload(segment), 1, LOG_SEGMENT_PAYLOAD_BYTES);
    }
    return NULL;
}

/* A grower that gets no space leaves no gap for the one that gets some. */
TEST_WITH(growth_leaves_no_holes, NULL, close_log)
{
    pthread_t threads[N_THREADS];
    pthread_t changer;
    struct rlimit old;
    struct stat status;

    log_fixture_open(&g_log, 1, 1024 * (uint64_t)MIB);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    /* If the limit changes between the check and the reservation, the signal is raised. */
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(pthread_create(&changer, NULL, change_limit, &old), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_all, NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    g_is_over = true;
    pthread_join(changer, NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    for (uint32_t i = 0; i < g_log.file->n_segments; i++)
        if (!segment_at(i))
            fail_msg("segment %u of %u is a hole", i, g_log.file->n_segments);
    assert_int_equal(stat(g_log.path, &status), 0);
    assert_true((uint64_t)status.st_blocks * 512
                >= (uint64_t)g_log.file->n_segments * LOG_SEGMENT_BYTES);
}
