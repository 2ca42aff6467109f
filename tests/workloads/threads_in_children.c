/* SPDX-License-Identifier: MIT */
/*
 * threads_in_children: fork children whose first allocator calls are made by several threads in
 * parallel, on stacks that libc kept from threads of the parent, so that nothing is allocated
 * before.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <sys/wait.h>

enum {
    N_CHILDREN = 20,
    N_THREADS = 4,
    N_BLOCKS = 1000
};

static void *allocate(void *arg)
{
    for (int i = 0; i < N_BLOCKS; i++)
        keep(malloc(OWN_BYTES(3)));
    return arg;
}

static void *nothing(void *arg)
{
    return arg;
}

static void run(void *(*routine)(void *))
{
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, routine, NULL);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    run(nothing);
    for (int i = 0; i < N_CHILDREN; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            run(allocate);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    expect("children_blocks", N_CHILDREN * N_THREADS * N_BLOCKS);
    expect("children", N_CHILDREN);
    return 0;
}
