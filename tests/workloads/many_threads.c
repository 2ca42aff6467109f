/* SPDX-License-Identifier: MIT */
/* many_threads at_once | in_turn: 5,000 threads that all live, or 100,000 that come and go. */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <string.h>

enum {
    N_AT_ONCE = 5000,
    N_IN_TURN = 100000,
    STACK_BYTES = 65536,
};

static pthread_barrier_t all_are_there;

static void *live_with_all(void *arg)
{
    void *block = own_malloc(0);

    (void)arg;
    pthread_barrier_wait(&all_are_there);
    own_free(block, 0);
    return own_malloc(1); /* freed by the main thread */
}

static void *live_alone(void *arg)
{
    own_free(own_malloc(0), 0);
    return arg;
}

static pthread_t start(const pthread_attr_t *attributes, void *(*body)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, attributes, body, NULL) != 0)
        skip("so many threads are not allowed here");
    return thread;
}

int main(int argc, char **argv)
{
    static pthread_t threads[N_AT_ONCE];
    pthread_attr_t attributes;
    int is_at_once = argc > 1 && strcmp(argv[1], "at_once") == 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_barrier_init(&all_are_there, NULL, N_AT_ONCE);
    for (int i = 0; is_at_once && i < N_AT_ONCE; i++)
        threads[i] = start(&attributes, live_with_all);
    for (int i = 0; is_at_once && i < N_AT_ONCE; i++) {
        void *block;
        pthread_join(threads[i], &block);
        own_free(block, 1);
    }
    for (int i = 0; !is_at_once && i < N_IN_TURN; i++)
        pthread_join(start(&attributes, live_alone), NULL);
    expect_own();
    expect("threads", 1 + (is_at_once ? N_AT_ONCE : N_IN_TURN));
    expect("freed_in_other_thread", is_at_once ? N_AT_ONCE : 0);
    return 0;
}
