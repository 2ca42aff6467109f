/* SPDX-License-Identifier: MIT */
/*
 * Two threads free each other's blocks, and the address of the one is soon that of the other's:
 * seen from a thread alone, it frees what it allocated. Between, both have temporary blocks of
 * their own.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    N_ROUNDS = 20000,
    N_TEMPORARY = 5,
};

static void *_Atomic there; /* from the main thread to the other */
static void *_Atomic back;

static void use_temporary_blocks(void)
{
    for (int i = 0; i < N_TEMPORARY; i++)
        own_free(own_malloc(1), 1);
}

static void *wait_for(void *_Atomic *slot)
{
    void *block;

    while ((block = atomic_exchange_explicit(slot, NULL, memory_order_acquire)) == NULL)
        sched_yield();
    return block;
}

static void *answer(void *arg)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        own_free(wait_for(&there), 0);
        void *block = own_malloc(0);
        use_temporary_blocks();
        atomic_store_explicit(&back, block, memory_order_release);
    }
    return arg;
}

int main(void)
{
    unsigned n_same = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < N_ROUNDS; i++) {
        void *block = own_malloc(0);
        size_t address = (size_t)block;
        atomic_store_explicit(&there, block, memory_order_release);
        use_temporary_blocks();
        block = wait_for(&back);
        n_same += (size_t)block == address;
        own_free(block, 0);
    }
    pthread_join(thread, NULL);
    if (n_same < N_ROUNDS / 2)
        skip("the allocator gave out other addresses");
    expect_own();
    expect("with_culled", own.allocated);
    expect("with_culled_bytes", own.allocated_bytes);
    expect("crossed", 2 * N_ROUNDS);
    return 0;
}
