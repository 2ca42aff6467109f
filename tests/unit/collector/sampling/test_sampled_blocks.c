/* SPDX-License-Identifier: MIT */
#include "collector/sampling/sampled_blocks.h"
#include "tests/lib/unit.h"

#include <pthread.h>

enum {
    N_BLOCKS = 200000, /* several tables */
    N_THREADS = 4,
    N_ROUNDS = 50000,
};

static const void *block(uintptr_t number)
{
    return (const void *)((uintptr_t)0x555555000000u + number * 48);
}

/* SB-2: counters of a byte saturate, and stay so. */
TEST(many_are_all_found)
{
    unsigned n_full = 0;

    for (uintptr_t i = 0; i < N_BLOCKS; i++)
        assert_true(sampled_blocks_add(block(i)));
    for (unsigned i = 0; i < 1 << SAMPLED_BLOCKS_COUNTERS_LOG2; i++)
        n_full += g_sampled_blocks_counters[i] > 1;
    assert_true(n_full > 1000);
    for (uintptr_t i = 0; i < N_BLOCKS; i++) {
        assert_true(sampled_blocks_has(block(i)));
        assert_false(sampled_blocks_has(block(N_BLOCKS + i)));
    }
    for (uintptr_t i = 0; i < N_BLOCKS; i++)
        assert_true(sampled_blocks_take(block(i)));
    for (uintptr_t i = 0; i < N_BLOCKS; i++)
        assert_false(sampled_blocks_take(block(i)));
}

TEST(counters_that_are_full_stay_so)
{
    _Atomic uint8_t *counter = sampled_blocks_counter(block(7));

    *counter = UINT8_MAX;
    assert_true(sampled_blocks_add(block(7)));
    assert_true(sampled_blocks_take(block(7)));
    assert_int_equal(*counter, UINT8_MAX);
    assert_false(sampled_blocks_take(block(7)));
    *counter = 0;
}

/* SB-2: realloc(NULL) looks it up, while another sample has its counter. */
TEST(null_is_no_sample)
{
    _Atomic uint8_t *counter = sampled_blocks_counter(NULL);

    assert_true(sampled_blocks_add(block(8))); /* so that there are empty places */
    *counter = 1;
    assert_false(sampled_blocks_has(NULL));
    assert_false(sampled_blocks_take(NULL));
    assert_int_equal(*counter, 1);
    *counter = 0;
    assert_true(sampled_blocks_take(block(8)));
}

static void *add_and_take(void *context)
{
    uintptr_t first = *(const uintptr_t *)context * N_ROUNDS;

    for (uintptr_t i = 0; i < N_ROUNDS; i++) {
        assert_true(sampled_blocks_add(block(first + i)));
        if (i >= 100)
            assert_true(sampled_blocks_take(block(first + i - 100)));
    }
    for (uintptr_t i = N_ROUNDS - 100; i < N_ROUNDS; i++)
        assert_true(sampled_blocks_take(block(first + i)));
    return NULL;
}

TEST(threads_do_not_disturb_each_other)
{
    uintptr_t numbers[N_THREADS];
    pthread_t threads[N_THREADS];

    for (unsigned i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_take, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 1 << SAMPLED_BLOCKS_COUNTERS_LOG2; i++)
        assert_int_equal(g_sampled_blocks_counters[i], 0);
}
