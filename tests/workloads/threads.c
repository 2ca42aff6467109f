/* SPDX-License-Identifier: MIT */
/* Eight threads allocate and free at once; each leaves some blocks behind. */
#include "tests/workloads/workload.h"

#include <pthread.h>

enum {
    N_THREADS = 8,
    N_ROUNDS = 2000,
    LEAK_EVERY = 100
};

static void *work(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        unsigned n = (seed + i) % 5;
        void *block = own_malloc(n);
        if (i % LEAK_EVERY != 0)
            own_free(block, n);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_own();
    expect("threads", N_THREADS + 1);
    return 0;
}
