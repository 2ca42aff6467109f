/* SPDX-License-Identifier: MIT */
/*
 * thread_creation pthread|thrd|waiting: one thread, made by that call or before SIGUSR2 is raised,
 * allocates far down its stack. Not compared with an untracked run, but by
 * tests/preload/side_effects.py: the collector knows the bounds of its stack whichever call made
 * it, and when.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <threads.h>

enum {
    N_CALLS = 200,
    FRAME_BYTES = 1024
};

static atomic_bool may_go;

__attribute__((noinline)) static void descend(unsigned depth)
{
    volatile char frame[FRAME_BYTES];

    frame[0] = 0;
    own_free(own_malloc(depth % 3), depth % 3);
    if (depth > 0)
        descend(depth - 1);
    frame[1] = frame[0];
}

static void *work(void *unused)
{
    while (!atomic_load(&may_go))
        usleep(1000);
    descend(N_CALLS);
    return unused;
}

static int work_c11(void *unused)
{
    work(unused);
    return 77;
}

int main(int argc, char **argv)
{
    const char *how = argc == 2 ? argv[1] : "pthread";
    pthread_t posix;
    thrd_t c11;
    int result = 77;

    if (strcmp(how, "thrd") == 0 ? thrd_create(&c11, work_c11, NULL) != thrd_success
                                 : pthread_create(&posix, NULL, work, NULL) != 0)
        return 1;
    if (strcmp(how, "waiting") == 0)
        raise(SIGUSR2);
    atomic_store(&may_go, true);
    if (strcmp(how, "thrd") == 0)
        thrd_join(c11, &result);
    else
        pthread_join(posix, NULL);
    expect_own();
    return result != 77;
}
