/* SPDX-License-Identifier: MIT */
#include "collector/sampling/sampler.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/kernel.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MEAN = 524288,
    N_DRAWS = 1000000,
    N_CLASSES = 100,
    N_WORDS = 10,
    BITS_BYTES = N_WORDS * 8,
};

/* Classes of equal probability under the exponential distribution: 100 of them, 99 degrees of
 * freedom. */
TEST(intervals_are_exponential)
{
    static unsigned counts[N_CLASSES];
    uint64_t generator = 42;
    double chi_square = 0;
    double sum = 0;

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

/* The ends: the shortest interval is one byte, the longest that 64 bits can draw 44 times the
 * mean. */
TEST(intervals_are_at_min_a_byte)
{
    uint64_t generator = 7;

    for (unsigned i = 0; i < N_DRAWS; i++) {
        uint64_t interval = sampler_interval(1, &generator);
        assert_in_range(interval, 1, 45);
        assert_in_range(sampler_interval((uint64_t)1 << 40, &generator), 1, (uint64_t)45 << 40);
    }
}

static void *draw_bits(void *ret_bits)
{
    uint64_t *bits = ret_bits;

    for (unsigned i = 0; i < N_WORDS * 64; i++)
        bits[i / 64] |= (uint64_t)sampler_count_and_draw(300) << i % 64;
    return NULL;
}

static void draw_in_thread(uint64_t seed, uint64_t *ret_bits)
{
    pthread_t thread;

    memset(ret_bits, 0, BITS_BYTES);
    if (seed)
        sampler_begin(1024, seed);
    assert_int_equal(pthread_create(&thread, NULL, draw_bits, ret_bits), 0);
    pthread_join(thread, NULL);
}

/* SA-3 */
TEST(threads_draw_apart_and_runs_alike)
{
    uint64_t first[N_WORDS], second[N_WORDS], again[N_WORDS];

    draw_in_thread(77, first);
    draw_in_thread(0, second); /* the second thread of the same run */
    draw_in_thread(77, again);
    assert_memory_not_equal(first, second, sizeof(first));
    assert_memory_equal(first, again, sizeof(first));
}

static void draw_in_grandchild(uint64_t *ret_bits, unsigned n_generations)
{
    pid_t pid;

    sampler_fork_begins();
    pid = fork();
    sampler_fork_ended(pid == 0);
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    if (n_generations > 1)
        draw_in_grandchild(ret_bits, n_generations - 1);
    else
        draw_bits(ret_bits);
    _exit(0);
}

/* SA-4, of all their lives. */
TEST(children_have_numbers_of_their_own)
{
    uint64_t(*bits)[N_WORDS] =
        mmap(NULL, 5 * BITS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(bits, MAP_FAILED);
    sampler_begin(1024, 5);
    draw_in_grandchild(bits[0], 1);
    draw_in_grandchild(bits[1], 1);
    draw_in_grandchild(bits[2], 2);
    draw_in_grandchild(bits[3], 2);
    draw_bits(bits[4]);
    for (unsigned i = 0; i < 5; i++)
        for (unsigned k = 0; k < i; k++)
            assert_memory_not_equal(bits[i], bits[k], BITS_BYTES);
    munmap(bits, 5 * BITS_BYTES);
}
