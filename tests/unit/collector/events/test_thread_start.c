/* SPDX-License-Identifier: MIT */
/* Threads that have not begun yet: any number of them, each with an entry of its own, in fork
 * children, too. */
#include "collector/events/thread_start.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MANY = 5 * THREAD_START_IN_CHUNK,
    WORKERS = 8,
    ROUNDS = 20000,
    AT_ONCE = 40, /* by each worker: together more than a chunk */
};

static struct start *g_taken[MANY];
static int g_n_maps;

/* Tells the linker's names of the function and of the one that it wrapped. */
void *__real_memory_map_inherited(size_t size_bytes);
void *__wrap_memory_map_inherited(size_t size_bytes);

void *__wrap_memory_map_inherited(size_t size_bytes)
{
    g_n_maps++;
    return __real_memory_map_inherited(size_bytes);
}

static bool take_many(void)
{
    for (uint32_t i = 0; i < MANY; i++) {
        g_taken[i] = thread_start_take();
        if (!g_taken[i])
            return false;
        g_taken[i]->group = i;
    }
    for (uint32_t i = 0; i < MANY; i++)
        if (g_taken[i]->group != i)
            return false;
    return true;
}

TEST(any_number_may_wait)
{
    int n_maps;

    assert_true(take_many());
    for (uint32_t i = 0; i < MANY; i++)
        thread_start_give_back(g_taken[i]);
    n_maps = g_n_maps;
    for (uint32_t round = 0; round < 10; round++) {
        assert_true(take_many());
        for (uint32_t i = 0; i < MANY; i++)
            thread_start_give_back(g_taken[i]);
    }
    assert_int_equal(g_n_maps, n_maps);
}

static int generation(unsigned n_more)
{
    pid_t child;
    int status = 0;

    if (!take_many())
        return 1;
    if (n_more == 0)
        return 0;
    child = fork();
    if (child == 0)
        _exit(generation(n_more - 1));
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

/* Threads that waited in the parent never begin here. */
TEST(children_have_as_many)
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0)
        _exit(generation(4));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *take_and_give_back(void *argument)
{
    uint32_t own = (uint32_t)(uintptr_t)argument;
    struct start *mine[AT_ONCE];
    uintptr_t n_strange = 0;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            mine[i] = thread_start_take();
            mine[i]->group = own;
            mine[i]->stack_bytes = round;
        }
        for (uint32_t i = 0; i < AT_ONCE; i++) {
            n_strange += mine[i]->group != own || mine[i]->stack_bytes != round;
            thread_start_give_back(mine[i]);
        }
    }
    return (void *)n_strange;
}

TEST(a_place_has_one_owner)
{
    pthread_t workers[WORKERS];
    void *n_strange;

    for (uintptr_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, take_and_give_back, (void *)i), 0);
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(workers[i], &n_strange), 0);
        assert_null(n_strange);
    }
}
