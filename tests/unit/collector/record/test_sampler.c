/* SPDX-License-Identifier: MIT */
#include "collector/record/sampler.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    MEAN = 524288,
    N_DRAWS = 1000000,
    N_CLASSES = 100,
};

/* Classes of equal probability under the exponential distribution: 100 of them, 99 degrees of freedom. */
static void intervals_are_exponential(void **state)
{
    static unsigned counts[N_CLASSES];
    uint64_t generator = 42;
    double chi_square = 0;
    double sum = 0;

    (void)state;
    for (unsigned i = 0; i < N_DRAWS; i++) {
        double interval = (double)sampler_interval(MEAN, &generator) - 0.5;
        counts[(unsigned)(-expm1(-interval / MEAN) * N_CLASSES)]++;
        sum += interval;
    }
    for (unsigned i = 0; i < N_CLASSES; i++) {
        double off = (double)counts[i] - (double)N_DRAWS / N_CLASSES;
        chi_square += off * off / ((double)N_DRAWS / N_CLASSES);
    }
    print_message("chi-square %.1f, mean %.1f\n", chi_square, sum / N_DRAWS);
    assert_true(chi_square > 66.5 && chi_square < 138.99); /* 0.5 % on either side */
    assert_true(fabs(sum / N_DRAWS - MEAN) < 3. * MEAN / 1000);
}

/* The ends: the shortest interval is one byte, the longest that 64 bits can draw 44 times the mean. */
static void intervals_are_at_least_a_byte(void **state)
{
    uint64_t generator = 7;

    (void)state;
    for (unsigned i = 0; i < N_DRAWS; i++) {
        uint64_t interval = sampler_interval(1, &generator);
        assert_in_range(interval, 1, 45);
        assert_in_range(sampler_interval((uint64_t)1 << 40, &generator), 1, (uint64_t)45 << 40);
    }
}

/* SA-1, by counting: sizes far below, near and far above the mean, in turn. */
static void blocks_are_drawn_by_their_size(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 3000, 4096, 10000, 1 << 20};
    unsigned drawn[7] = {0};

    (void)state;
    sampler_begin(4096, 5);
    for (unsigned i = 0; i < N_DRAWS; i++)
        for (unsigned k = 0; k < 7; k++)
            drawn[k] += sampler_takes(sizes[k]);
    for (unsigned k = 0; k < 7; k++) {
        double p = -expm1(-(double)(sizes[k] ? sizes[k] : 1) / 4096);
        double deviation = sqrt(p * (1 - p) * N_DRAWS);
        print_message("%zu bytes: %u of %.0f\n", sizes[k], drawn[k], p * N_DRAWS);
        assert_true(fabs(drawn[k] - p * N_DRAWS) <= 4 * deviation);
    }
}

static void *draw_bits(void *ret_bits)
{
    uint64_t *bits = ret_bits;

    for (unsigned i = 0; i < 640; i++)
        bits[i / 64] |= (uint64_t)sampler_takes(300) << i % 64;
    return NULL;
}

static void draw_in_thread(uint64_t seed, uint64_t *ret_bits)
{
    pthread_t thread;

    memset(ret_bits, 0, 10 * sizeof(*ret_bits));
    if (seed)
        sampler_begin(1024, seed);
    assert_int_equal(pthread_create(&thread, NULL, draw_bits, ret_bits), 0);
    pthread_join(thread, NULL);
}

/* SA-3. A seed is one of a log: each begins another row of numbers, as fork children do. */
static void threads_and_logs_draw_apart(void **state)
{
    uint64_t first[10], second[10], other[10];

    (void)state;
    draw_in_thread(77, first);
    draw_in_thread(0, second); /* the second thread of the same log */
    draw_in_thread(77, other); /* the next log */
    assert_memory_not_equal(first, second, sizeof(first));
    assert_memory_not_equal(first, other, sizeof(first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_are_exponential),
        cmocka_unit_test(intervals_are_at_least_a_byte),
        cmocka_unit_test(blocks_are_drawn_by_their_size),
        cmocka_unit_test(threads_and_logs_draw_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
