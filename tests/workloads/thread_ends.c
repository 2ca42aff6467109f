/* SPDX-License-Identifier: MIT */
/*
 * Threads that end by return, pthread_exit and cancellation, with clean-up handlers and keys whose
 * destructors allocate, free and re-arm themselves for all rounds that POSIX allows.
 */
#include "tests/workloads/workload.h"

#include <limits.h>
#include <pthread.h>

static pthread_key_t key;

static void destroy(void *block)
{
    void *next = own_malloc(2);
    own_free(block, 2);
    pthread_setspecific(key, next);
}

static void clean_up(void *block)
{
    own_free(block, 1);
    own_free(own_malloc(3), 3);
}

static void *work(void *how)
{
    pthread_setspecific(key, own_malloc(2));
    pthread_cleanup_push(clean_up, own_malloc(1));
    if (how == (void *)1)
        pthread_exit(how);
    if (how == (void *)2) {
        for (;;)
            sleep(1);
    }
    pthread_cleanup_pop(1);
    return how;
}

int main(void)
{
    pthread_key_create(&key, destroy);
    for (size_t i = 0; i < 60; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, (void *)(i % 3));
        if (i % 3 == 2) {
            usleep(1000);
            pthread_cancel(thread);
        }
        pthread_join(thread, NULL);
    }
    expect_own();
    expect("rounds", PTHREAD_DESTRUCTOR_ITERATIONS);
    return 0;
}
