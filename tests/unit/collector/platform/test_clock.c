/* SPDX-License-Identifier: MIT */
/* Every source of time runs forward, in one unit, also across the switches. */
#include "collector/platform/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

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

static void monotonic_counts_nanoseconds(void **state)
{
    struct clock_instant before;
    struct clock_instant after;

    (void)state;
    clock_init(false);
    assert_int_equal(clock_unit(), LOG_CLOCK_MONOTONIC);
    runs_forward();
    before = clock_now();
    wait_a_little();
    after = clock_now();
    assert_true(after.ticks - before.ticks >= 20 * 1000 * 1000);
    assert_true(after.ticks == after.monotonic_ns);
}

static double ticks_per_ns(struct clock_instant from, struct clock_instant to)
{
    return (double)(to.ticks - from.ticks) / (double)(to.monotonic_ns - from.monotonic_ns);
}

static void a_forbidden_counter_is_replaced_at_its_own_rate(void **state)
{
    struct clock_instant start;
    struct clock_instant middle;
    struct clock_instant end;

    (void)state;
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
    end = clock_now();
    assert_true(end.ticks > middle.ticks);
    assert_true(ticks_per_ns(middle, end) / ticks_per_ns(start, middle) > 0.99);
    assert_true(ticks_per_ns(middle, end) / ticks_per_ns(start, middle) < 1.01);
}

static void without_system_calls_time_is_an_order(void **state)
{
    uint64_t before;
    uint64_t ticks;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_counts_nanoseconds),
        cmocka_unit_test(a_forbidden_counter_is_replaced_at_its_own_rate),
        cmocka_unit_test(without_system_calls_time_is_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
