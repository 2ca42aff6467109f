/* SPDX-License-Identifier: MIT */
/* ld.so's lock is found and never waited for. In a fork child of a parent whose thread held it, it
 * has no owner. */
#include "collector/os/loader_lock.h"
#include "tests/lib/unit.h"

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_SECONDS = 20
};

static pthread_barrier_t g_step;

static int look_nested(struct dl_phdr_info *unused, size_t size, void *context)
{
    int *n_had = context;

    (void)unused, (void)size;
    *n_had += loader_lock_try();
    if (loader_lock_try_nested()) {
        *n_had += 10;
        loader_lock_leave();
    }
    return 1;
}

TEST(test_nested)
{
    int n_had = 0;

    assert_true(loader_lock_find());
    assert_true(loader_lock_try());
    assert_false(loader_lock_try());
    loader_lock_leave();
    dl_iterate_phdr(look_nested, &n_had);
    assert_int_equal(n_had, 10);
}

static void *hold(void *unused)
{
    assert_true(loader_lock_try());
    pthread_barrier_wait(&g_step);
    pthread_barrier_wait(&g_step);
    loader_lock_leave();
    return unused;
}

/* Returns a bit for each wrong result. */
static int look_in_child(void)
{
    int n_had = 0;
    int wrong = loader_lock_try() ? 1 : 0;

    loader_lock_forget();
    wrong |= loader_lock_try() ? 0 : 2;
    loader_lock_leave();
    alarm(MAX_SECONDS);
    dl_iterate_phdr(look_nested, &n_had);
    loader_lock_forget(); /* no thread has it: nothing changes */
    return wrong | (n_had == 10 ? 0 : 4);
}

TEST(test_other_thread)
{
    pthread_t thread;
    pid_t child;
    int status = 0;

    assert_true(loader_lock_find());
    pthread_barrier_init(&g_step, NULL, 2);
    pthread_create(&thread, NULL, hold, NULL);
    pthread_barrier_wait(&g_step);
    assert_false(loader_lock_try());
    assert_false(loader_lock_try_nested());
    child = fork();
    if (child == 0)
        _exit(look_in_child());
    waitpid(child, &status, 0);
    pthread_barrier_wait(&g_step);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
    assert_true(loader_lock_try());
    loader_lock_leave();
}
