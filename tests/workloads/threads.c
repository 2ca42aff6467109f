/* SPDX-License-Identifier: MIT */
/* threads [ROUNDS]: eight threads allocate and free in parallel; each leaves some blocks behind. */
#include "tests/workloads/workload.h"

#include <pthread.h>

enum {
    N_THREADS = 8,
    LEAK_EVERY = 100
};

static unsigned n_rounds = 2000;

static void *work(void *arg)
{
    unsigned seed = (unsigned)(size_t)arg;
    for (unsigned i = 0; i < n_rounds; i++) {
        unsigned n = (seed + i) % 5;
        void *block = own_malloc(n);
        if (i % LEAK_EVERY != 0)
            own_free(block, n);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    if (argc > 1)
        n_rounds = (unsigned)atoi(argv[1]);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_own();
    expect("threads", N_THREADS + 1);
    return 0;
}
