/* SPDX-License-Identifier: MIT */
/* The lock waits for a holder that is not scheduled, but not for one that has exited. */
#include "collector/groups/object_walk.h"
#include "collector/os/rare_lock.h"
#include "collector/os/sys.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    HELD_NS = 300000000,
    N_THREADS = 8,
    N_ROUNDS = 2000,
};

static struct rare_lock g_lock;
static pthread_barrier_t g_taken;
static _Atomic bool g_was_given_up;

static void *hold_for_long(void *unused)
{
    struct rare_hold hold;

    (void)unused;
    assert_true(rare_lock_take(&g_lock, &hold));
    pthread_barrier_wait(&g_taken);
    sys_nap(HELD_NS);
    g_was_given_up = true;
    rare_lock_give_up(&g_lock, &hold);
    return NULL;
}

TEST(a_stopped_holder_keeps_the_lock)
{
    struct rare_hold hold;
    pthread_t thread;

    pthread_barrier_init(&g_taken, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, hold_for_long, NULL), 0);
    pthread_barrier_wait(&g_taken);
    assert_true(rare_lock_take(&g_lock, &hold));
    assert_true(g_was_given_up);
    rare_lock_give_up(&g_lock, &hold);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST(a_child_takes_it_from_its_parents_thread)
{
    struct rare_hold hold;
    pthread_t thread;
    int status = -1;
    pid_t child;

    g_was_given_up = false;
    assert_int_equal(pthread_create(&thread, NULL, hold_for_long, NULL), 0);
    pthread_barrier_wait(&g_taken);
    child = fork();
    if (child == 0)
        _exit(rare_lock_take(&g_lock, &hold) && !g_was_given_up ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *end_with_it(void *unused)
{
    struct rare_hold hold;

    (void)unused;
    assert_true(rare_lock_take(&g_lock, &hold));
    return NULL;
}

TEST(an_exited_holder_loses_the_lock)
{
    struct rare_hold hold;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, end_with_it, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(rare_lock_take(&g_lock, &hold));
    rare_lock_give_up(&g_lock, &hold);
}

/* The kernel reuses ids of threads. */
TEST(a_thread_with_the_id_of_an_exited_holder_takes_the_lock)
{
    struct rare_hold hold;

    g_lock.holder = (uint64_t)getpid() << 32 | (uint32_t)gettid();
    assert_true(rare_lock_take(&g_lock, &hold));
    rare_lock_give_up(&g_lock, &hold);
    assert_int_equal(g_lock.holder, 0);
}

TEST(the_holder_does_not_wait_for_itself)
{
    struct rare_hold hold;
    struct rare_hold again;

    assert_true(rare_lock_take(&g_lock, &hold));
    assert_false(rare_lock_take(&g_lock, &again));
    rare_lock_give_up(&g_lock, &hold);
    assert_true(rare_lock_take(&g_lock, &again));
    rare_lock_give_up(&g_lock, &again);
}

/* ---- what it guards -------------------------------------------------------------------------- */

static char g_objects[N_THREADS][3];

static void *register_and_remove(void *objects)
{
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        for (unsigned k = 0; k < 3; k++) {
            const struct mtrace_root root = {"root", (char *)objects + k, 1, NULL};
            assert_true(object_roots_add(&root));
        }
        object_roots_remove((char *)objects + i % 3);
    }
    return NULL;
}

static unsigned count_of(const void *object)
{
    unsigned n = 0;

    for (size_t i = 0; i < object_roots_count(); i++)
        n += object_roots_at(i).object == object;
    return n;
}

TEST(each_root_is_there_once)
{
    pthread_t threads[N_THREADS];

    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_and_remove, g_objects[i]), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++)
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(count_of(&g_objects[i][k]), k != (N_ROUNDS - 1) % 3);
}
