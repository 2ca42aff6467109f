/* SPDX-License-Identifier: MIT */
/* Numbers of threads: freed ones are reused, each has one owner at a time, and there are no more
 * than threads alive together. */
#include "collector/thread/thread.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    THREADS = 4,
    ROUNDS = 20000,
    AT_ONCE = 3,
    MOST = 8 * THREADS
           * AT_ONCE /* a lookup while others take and release may miss one, and takes a new one */
};

static int forget(void **state)
{
    (void)state;
    thread_numbers_forget();
    return 0;
}

TEST_WITH(released_numbers_are_taken_again, forget, NULL)
{
    bool is_new;

    for (uint32_t i = 1; i <= 5; i++) {
        assert_int_equal(thread_numbers_take(&is_new), i);
        assert_true(is_new);
    }
    thread_numbers_leave(4);
    assert_int_equal(thread_numbers_take(&is_new), 4);
    assert_false(is_new);
    assert_int_equal(thread_numbers_take(&is_new), 6);
    assert_true(is_new);
    assert_false(thread_numbers_is_shared(5, 5));
    assert_true(thread_numbers_is_shared(6, 5));
    assert_false(thread_numbers_is_shared(6, 0));
}

TEST_WITH(another_log_begins_with_the_first, forget, NULL)
{
    bool is_new;

    assert_int_equal(thread_numbers_take(&is_new), 1);
    thread_numbers_leave(1);
    thread_numbers_forget();
    assert_int_equal(thread_numbers_take(&is_new), 1);
    assert_true(is_new);
}

/* Threads beyond the limit have no number. */
TEST_WITH(as_many_wait_as_there_are_places_for, forget, NULL)
{
    bool is_new;

    for (uint32_t i = 1; i <= THREAD_NUMBERS_WAITING + 5; i++)
        thread_numbers_take(&is_new);
    for (uint32_t i = 1; i <= THREAD_NUMBERS_WAITING + 5; i++)
        thread_numbers_leave(i);
    for (uint32_t i = 1; i <= THREAD_NUMBERS_WAITING; i++) {
        assert_in_range(thread_numbers_take(&is_new), 1, THREAD_NUMBERS_WAITING);
        assert_false(is_new);
    }
    assert_int_equal(thread_numbers_take(&is_new), THREAD_NUMBERS_WAITING + 6);
}

static _Atomic uint32_t g_owners[MOST + 1];
static _Atomic bool g_is_wrong;

static void *come_and_go(void *argument)
{
    uint32_t numbers[AT_ONCE];
    bool is_new;

    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < AT_ONCE; k++) {
            numbers[k] = thread_numbers_take(&is_new);
            if (numbers[k] > MOST || atomic_fetch_add(&g_owners[numbers[k]], 1) != 0)
                g_is_wrong = true;
        }
        for (int k = 0; k < AT_ONCE; k++) {
            if (numbers[k] <= MOST)
                atomic_fetch_sub(&g_owners[numbers[k]], 1);
            thread_numbers_leave(numbers[k]);
        }
    }
    return argument;
}

/* TN-1 */
TEST_WITH(a_number_is_one_threads_at_a_time, forget, NULL)
{
    pthread_t threads[THREADS];
    bool is_new;

    for (int i = 0; i < THREADS * AT_ONCE; i++)
        thread_numbers_take(&is_new);
    for (uint32_t i = 1; i <= THREADS * AT_ONCE; i++)
        thread_numbers_leave(i);
    g_is_wrong = false;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_false(g_is_wrong);
}
