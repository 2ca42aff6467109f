/* SPDX-License-Identifier: MIT */
/* Every clock source runs forward, in one unit, also across switches. */
#include "collector/os/clock.h"
#include "collector/os/sys.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){0, 20 * 1000 * 1000}, NULL);
}

static void runs_forward(void)
{
    uint64_t last = clock_ticks_before();

    for (unsigned i = 0; i < 10000; i++) {
        uint64_t now = i % 2 ? clock_ticks_before() : clock_ticks_after();
        assert_true(now >= last);
        last = now;
    }
}

/* ---- a clock that is interrupted ---- */

static unsigned g_n_late; /* readings that take as long as when other threads run */
static unsigned g_n_read;

static void let_others_run(void)
{
    for (uint64_t start = arch_counter(); arch_counter() - start < 1000000;)
        continue;
}

/* Measures the time in ticks, so that no second clock is needed. */
static int late_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    if (g_n_read < g_n_late)
        let_others_run();
    time->tv_sec = 0;
    time->tv_nsec = (long)arch_counter();
    if (g_n_read++ < g_n_late)
        let_others_run();
    return 0;
}

void *__real_real_find_in_vdso(const char *name);
void *__wrap_real_find_in_vdso(const char *name);

void *__wrap_real_find_in_vdso(const char *name)
{
    int (*gettime)(clockid_t, struct timespec *) = late_gettime;
    void *found;

    if (g_n_late == 0)
        return __real_real_find_in_vdso(name);
    memcpy(&found, &gettime, sizeof(found));
    return found;
}

static double ticks_per_ns(struct clock_instant from, struct clock_instant to)
{
    return (double)(to.ticks - from.ticks) / (double)(to.monotonic_ns - from.monotonic_ns);
}

TEST(a_forbidden_counter_is_replaced_at_its_own_rate)
{
    struct clock_instant start;
    struct clock_instant middle;
    struct clock_instant end;
    double change = 0;

    clock_init(true);
    if (clock_unit() != LOG_CLOCK_TSC)
        skip();
    runs_forward();
    start = clock_now();
    wait_a_little();
    middle = clock_now();
    clock_forbid_tsc();
    assert_int_equal(g_clock_source, CLOCK_SOURCE_CONVERTED);
    assert_int_equal(clock_unit(), LOG_CLOCK_TSC);
    runs_forward();
    wait_a_little();
    for (int i = 0; i < 100; i++) { /* some are interrupted between the clocks */
        end = clock_now();
        assert_true(end.ticks > middle.ticks);
        change = ticks_per_ns(middle, end) / ticks_per_ns(start, middle);
        if (change > 0.99 && change < 1.01)
            return;
    }
    fail_msg("at %g times the rate", change);
}

/* ---- between threads: CK-1 ---- */

enum {
    N_TURNS = 50000,
    FEWEST_TURNS = 100,
    LONGEST_NS = 1000000000, /* where others have the processors, each turn waits for them */
    OVER = 1 << 30,
};

static _Atomic unsigned g_turn;  /* even: the first thread's */
static uint64_t g_stamp;         /* of the last turn; published by g_turn */
static _Atomic unsigned g_wrong; /* stamps before the one that was handed over */

/* A block goes from thread to thread: stamped, released, acquired by the next thread and stamped
 * again. */
static void *take_turns(void *first)
{
    const uint64_t start = sys_clock_ns(CLOCK_MONOTONIC);

    for (unsigned turn = first ? 0 : 1; turn < N_TURNS; turn += 2) {
        unsigned now;
        uint64_t stamp;
        while ((now = atomic_load_explicit(&g_turn, memory_order_acquire)) != turn && now != OVER)
            sched_yield();
        if (turn >= FEWEST_TURNS && sys_clock_ns(CLOCK_MONOTONIC) - start > LONGEST_NS)
            atomic_store(&g_turn, OVER);
        if (atomic_load(&g_turn) == OVER)
            return NULL;
        stamp = clock_ticks_after();
        if (stamp < g_stamp)
            atomic_fetch_add_explicit(&g_wrong, 1, memory_order_relaxed);
        g_stamp = stamp;
        atomic_store_explicit(&g_turn, turn + 1, memory_order_release);
    }
    return NULL;
}

TEST(blocks_handed_over_have_ordered_timestamps)
{
    pthread_t other;

    clock_init(true);
    atomic_store(&g_turn, 0);
    g_stamp = 0;
    assert_int_equal(pthread_create(&other, NULL, take_turns, NULL), 0);
    take_turns(&g_turn);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(g_wrong, 0);
}

TEST(without_system_calls_time_is_an_order)
{
    uint64_t before;
    uint64_t ticks;

    clock_init(true);
    before = clock_ticks_after();
    clock_forbid_all();
    ticks = clock_ticks_before();
    assert_true(ticks > before);
    assert_true(clock_ticks_after() == ticks + 1);
    assert_true(clock_now().monotonic_ns == 0);
    clock_allow();
    assert_true(clock_ticks_after() > ticks);
    assert_true(clock_now().monotonic_ns != 0);
}

/* Of many readings the importer uses the one whose time is earliest for its ticks. */
TEST(an_interrupted_reading_is_late_if_it_is_kept_at_all)
{
    struct clock_instant now;

    if (!arch_has_counter())
        skip();
    g_n_late = UINT32_MAX;
    clock_init(true);
    if (clock_unit() == LOG_CLOCK_TSC) {
        now = clock_now();
        assert_true(now.monotonic_ns - now.ticks >= 1000000 && now.monotonic_ns > now.ticks);
        g_n_read = 0;
        g_n_late = 2;
        (void)clock_now();
        assert_true(g_n_read > 2); /* the first two were not good enough */
    }
    g_n_late = 0;
    clock_init(true);
}
