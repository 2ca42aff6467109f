/* SPDX-License-Identifier: MIT */
/* A producer allocates, a consumer frees, through a lock-free ring: another thread frees every
 * block. */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    N_BLOCKS = 50000,
    RING = 64
};

static void *ring[RING];
static _Atomic unsigned head; /* written by the producer */
static _Atomic unsigned tail; /* written by the consumer */

static void *consume(void *arg)
{
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        while (atomic_load_explicit(&head, memory_order_acquire) == i)
            sched_yield();
        own_free(ring[i % RING], i % 3);
        atomic_store_explicit(&tail, i + 1, memory_order_release);
    }
    return arg;
}

int main(void)
{
    pthread_t consumer;
    pthread_create(&consumer, NULL, consume, NULL);
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        while (i - atomic_load_explicit(&tail, memory_order_acquire) == RING)
            sched_yield();
        ring[i % RING] = own_malloc(i % 3);
        atomic_store_explicit(&head, i + 1, memory_order_release);
    }
    pthread_join(consumer, NULL);
    expect_own();
    expect("freed_in_other_thread", N_BLOCKS);
    return 0;
}
