/* SPDX-License-Identifier: MIT */
/* In a fork child, only modules that its own thread unloads count as being unloaded. */
#include "collector/log/modules.h"
#include "tests/lib/unit.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t g_step;

static void *unload(void *unused)
{
    modules_begin_unload();
    pthread_barrier_wait(&g_step);
    pthread_barrier_wait(&g_step);
    modules_end_unload();
    return unused;
}

/* As fork in a destructor does. Returns a bit for each wrong result. */
static int look_in_child(bool has_own)
{
    int wrong = modules_are_unloading() ? 0 : 1;

    modules_forget_unloads();
    wrong |= modules_are_unloading() == has_own ? 0 : 2;
    if (has_own)
        modules_end_unload();
    return wrong | (modules_are_unloading() ? 4 : 0);
}

static int fork_and_look(bool has_own)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(look_in_child(has_own));
    waitpid(child, &status, 0);
    return status;
}

TEST(test_other_thread)
{
    pthread_t thread;

    assert_false(modules_are_unloading());
    pthread_barrier_init(&g_step, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, unload, NULL), 0);
    pthread_barrier_wait(&g_step);
    assert_int_equal(fork_and_look(false), 0);
    modules_begin_unload();
    assert_int_equal(fork_and_look(true), 0);
    modules_end_unload();
    assert_true(modules_are_unloading());
    pthread_barrier_wait(&g_step);
    pthread_join(thread, NULL);
    assert_false(modules_are_unloading());
}
