/* SPDX-License-Identifier: MIT */
/*
 * Two threads free each other's blocks, and soon reuse each other's addresses: to a single thread
 * it looks as if it freed its own blocks. Between, both have temporary blocks of their own, of many
 * sizes. The process is a second old. A part of the timeline is a thousandth of that, and pairs
 * that begin and end in two parts are not elided. With the argument "alike" neither holds: few
 * blocks can be elided, and nearly all of the log is as predicted.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>

enum {
    N_ROUNDS = 20000,
    N_TEMPORARY = 5,
    N_SIZES = 20, /* of temporary ones */
};

/* A block that is handed over. The waiting thread sleeps: on a busy machine two threads that yield
 * to each other make no progress. */
struct hand_over {
    sem_t is_there;
    void *block;
};

static struct hand_over there, back; /* from the main thread to the other */

static bool is_alike;

static void use_temporary_blocks(unsigned *seed)
{
    for (int i = 0; i < N_TEMPORARY; i++) {
        *seed = *seed * 1103515245u + 12345u;
        unsigned n = 1 + (is_alike ? 0 : (*seed >> 8) % N_SIZES);
        own_free(own_malloc(n), n);
    }
}

static void give(struct hand_over *to, void *block)
{
    to->block = block;
    sem_post(&to->is_there);
}

static void *wait_for(struct hand_over *from)
{
    while (sem_wait(&from->is_there) != 0) /* a signal */
        continue;
    return from->block;
}

static void *answer(void *arg)
{
    unsigned seed = 1;

    for (int i = 0; i < N_ROUNDS; i++) {
        own_free(wait_for(&there), 0);
        void *block = own_malloc(0);
        use_temporary_blocks(&seed);
        give(&back, block);
    }
    return arg;
}

int main(int argc, char **argv)
{
    unsigned n_same = 0, seed = 2;
    pthread_t thread;

    is_alike = argc > 1 && strcmp(argv[1], "alike") == 0;
    if (!is_alike)
        sleep(1);
    sem_init(&there.is_there, 0, 0);
    sem_init(&back.is_there, 0, 0);
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < N_ROUNDS; i++) {
        void *block = own_malloc(0);
        size_t address = (size_t)block;
        give(&there, block);
        use_temporary_blocks(&seed);
        block = wait_for(&back);
        n_same += (size_t)block == address;
        own_free(block, 0);
    }
    pthread_join(thread, NULL);
    if (n_same < N_ROUNDS / 2)
        skip("the allocator gave out other addresses");
    expect_own();
    expect("with_elided", own.allocated);
    expect("with_elided_bytes", own.allocated_bytes);
    expect("crossed", 2 * N_ROUNDS);
    return 0;
}
