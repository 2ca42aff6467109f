/* SPDX-License-Identifier: MIT */
/* Ten thousand threads, at most sixteen alive together, each with one block that the next thread
 * frees. */
#include "tests/workloads/workload.h"

#include <pthread.h>

enum {
    N_THREADS = 10000,
    N_AT_ONCE = 16
};

static void *inherited[N_AT_ONCE];

static void *work(void *arg)
{
    void **slot = arg;
    void *block = own_malloc(0);
    if (*slot != NULL)
        own_free(*slot, 0);
    *slot = block;
    return NULL;
}

int main(void)
{
    for (int done = 0; done < N_THREADS; done += N_AT_ONCE) {
        pthread_t threads[N_AT_ONCE];
        for (int i = 0; i < N_AT_ONCE; i++) {
            if (pthread_create(&threads[i], NULL, work, &inherited[i]) != 0)
                return 1;
        }
        for (int i = 0; i < N_AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    expect_own();
    expect("threads", N_THREADS + 1);
    return 0;
}
