/* SPDX-License-Identifier: MIT */
/* Events that are delayed between their timestamp and their commit, at every possible place. */
#include "collector/events/in_flight.h"
#include "collector/events/record.h"
#include "collector/events/reservation.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/kernel.h"
#include "tests/unit/collector/log_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

enum {
    HELD_NS = 30000000, /* longer than an undelayed thread needs to continue */
};

static struct log_fixture g_log;
static _Atomic bool g_holds; /* threads that reach the place are held there */
static _Atomic bool g_is_held, g_is_awaited;

static bool nap(void *unused, uint64_t ns)
{
    (void)unused;
    sys_nap(ns);
    return true;
}

static bool never_begin(void)
{
    return false;
}

static void hold(void)
{
    if (!atomic_load(&g_holds))
        return;
    atomic_store(&g_is_held, true);
    while (!atomic_load(&g_is_awaited))
        sched_yield();
    sys_nap(HELD_NS);
}

/* The request is a realloc that is stamped. */
static size_t hold_usable_size(void *block)
{
    (void)block;
    hold();
    return 64;
}

struct log_segment *__real_segment_take_events(uint64_t since);
struct log_segment *__wrap_segment_take_events(uint64_t since);

struct log_segment *__wrap_segment_take_events(uint64_t since)
{
    struct log_segment *segment = __real_segment_take_events(since);

    if (!g_real.malloc_usable_size)
        hold();
    return segment;
}

static int begin_recording(void **state)
{
    (void)state;
    log_fixture_open(&g_log, 16, 1 << 24);
    if (!state_init(&(const struct state_hooks){.begin_in_child = never_begin})
        || !state_start(STATE_UNSTARTED))
        return 1;
    clock_init(true);
    state_record(true);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    g_holds = g_is_held = g_is_awaited = false;
    g_real.malloc_usable_size = NULL;
    return 0;
}

struct worker {
    pthread_t thread;
    void (*act)(void);
    struct log_segment *_Atomic segment;
    _Atomic bool is_over, may_end;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (g_real.malloc_usable_size) /* it has a segment already */
        record_free((void *)0x1000, &origin);
    worker->segment = g_thread.segment;
    atomic_store(&g_holds, true);
    worker->act();
    worker->segment = g_thread.segment;
    atomic_store(&worker->is_over, true);
    while (!atomic_load(&worker->may_end))
        sched_yield();
    return NULL;
}

static void start_held(struct worker *worker, void (*act)(void))
{
    *worker = (struct worker){.act = act};
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    while (!atomic_load(&g_is_held))
        sched_yield();
}

static void end(struct worker *worker)
{
    atomic_store(&worker->may_end, true);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
}

static void resize(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    struct record_resize resize = {.old = (void *)0x1000, .began_ticks = clock_ticks_before()};

    record_realloc((void *)0x2000, 50, LOG_CALL_REALLOC, &resize, &origin);
}

TEST_WITH(a_stamped_event_is_waited_for, begin, NULL)
{
    struct worker worker;
    uint32_t committed;

    KERNEL_NEEDS(copies_own);
    g_real.malloc_usable_size = hold_usable_size;
    start_held(&worker, resize);
    committed = atomic_load(&worker.segment->committed_bytes);
    atomic_store(&g_is_awaited, true);
    assert_true(in_flight_wait(nap, NULL));
    assert_true(atomic_load(&worker.segment->committed_bytes) > committed);
    end(&worker);
}

static struct fallback_place g_place;

static void write_fallback_slowly(void)
{
    const uint64_t words[2] = {LOG_FREE, 0x3000};

    assert_true(reservation_fallback_reserve(&g_place));
    hold();
    reservation_fallback_write(&g_place, words, 2, clock_ticks_after(), 0, LOG_GROUP_ROOT);
}

TEST_WITH(a_record_fallback_is_waited_for, begin, NULL)
{
    struct worker worker;

    start_held(&worker, write_fallback_slowly);
    atomic_store(&g_is_awaited, true);
    assert_true(in_flight_wait(nap, NULL));
    assert_int_equal(atomic_load(&g_place.record->valid), LOG_FALLBACK_VALID);
    end(&worker);
}

static void free_one(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    record_free((void *)0x4000, &origin);
}

/* The segment has no known owner yet; so its first event has a later time, though it was stamped
 * before. */
TEST_WITH(events_are_stamped_after_their_segment_was_taken, begin, NULL)
{
    struct worker worker;
    const uint64_t *words;
    uint64_t asked;

    start_held(&worker, free_one);
    asked = clock_ticks_after();
    assert_true(in_flight_wait(nap, NULL));
    atomic_store(&g_is_awaited, true);
    while (!atomic_load(&worker.is_over))
        sched_yield();
    words = (const uint64_t *)(const void *)segment_payload(worker.segment);
    assert_int_equal(words[0] & 0xff, LOG_FREE);
    assert_true(worker.segment->base_ticks + ((words[0] >> 8 & 0xffffff) | words[1] >> 48 << 24)
                >= asked);
    end(&worker);
}

/* UE-2 */
TEST_WITH(an_event_that_never_ends_is_abandoned, begin, NULL)
{
    struct log_segment *segment = segment_take_events(SEGMENT_FROM_NOW);
    struct thread *stuck =
        mmap(NULL, sizeof(*stuck), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    KERNEL_NEEDS(copies_own);
    assert_ptr_not_equal(stuck, MAP_FAILED);
    stuck->segment = segment;
    stuck->guard = 0x123456789 | THREAD_GUARD_CLOSED;
    atomic_store(&segment->writer, (uintptr_t)stuck);
    assert_false(in_flight_wait(nap, NULL));
    stuck->guard = THREAD_GUARD_CLOSED; /* its thread ended, or it is in another image of the
                                         * process */
    assert_true(in_flight_wait(nap, NULL));
    stuck->guard = 0x123456789 | THREAD_GUARD_CLOSED;
    munmap(stuck, sizeof(*stuck));
    assert_true(in_flight_wait(nap, NULL));
    segment_seal(segment);
}

TESTS_WITH(begin_recording, NULL);
