/* SPDX-License-Identifier: MIT */
/*
 * Each of the allocator's functions, from several threads; each of them is the first call of some
 * thread. Linked with allocators other than the C library's, whose functions may call one another.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

enum {
    N_THREADS = 6,
    N_ROUNDS = 200
};

static void with_malloc(void)
{
    own_free(own_malloc(1), 1);
}

static void with_calloc(void)
{
    own_count_alloc(OWN_BYTES(2));
    own_free(keep(calloc(1, OWN_BYTES(2))), 2);
}

static void with_realloc(void)
{
    void *block = own_malloc(3);
    block = keep(realloc(block, OWN_BYTES(20)));
    own_count_free(OWN_BYTES(3));
    own_count_alloc(OWN_BYTES(20));
    own_free(block, 20);
}

static void with_posix_memalign(void)
{
    void *block = NULL;
    if (posix_memalign(&block, 256, OWN_BYTES(4)) != 0)
        abort();
    own_count_alloc(OWN_BYTES(4));
    own_free(keep(block), 4);
}

static void with_aligned_alloc(void)
{
    own_count_alloc(OWN_BYTES(5));
    own_free(keep(aligned_alloc(64, OWN_BYTES(5))), 5);
}

static void (*const calls[])(void) = {with_malloc, with_calloc, with_realloc, with_posix_memalign,
                                      with_aligned_alloc};

enum {
    N_CALLS = sizeof(calls) / sizeof(calls[0])
};

static void *use(void *first)
{
    size_t call = (size_t)first;
    for (unsigned round = 0; round < N_ROUNDS * N_CALLS; round++)
        calls[call++ % N_CALLS]();
    return NULL;
}

static sigjmp_buf outside;

static void jump(int number)
{
    (void)number;
    siglongjmp(outside, 1);
}

/* The handler jumps out of an interrupted allocator; only nested_allocator.c raises the signal. */
static void leave_by_longjmp(void)
{
    signal(SIGUSR1, jump);
    if (sigsetjmp(outside, 1) == 0)
        free(keep(malloc(54321)));
}

int main(void)
{
    pthread_t threads[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++)
        if (pthread_create(&threads[i], NULL, use, (void *)i) != 0)
            return 1;
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    leave_by_longjmp();
    own_malloc(7);
    expect_own();
    return 0;
}
