/* SPDX-License-Identifier: MIT */
/*
 * Two threads take the same block from each other, as fast as a lock-free allocator can do it. With
 * `no_tsc` the program first forbids itself the time stamp counter.
 */
#include "tests/workloads/handover.h"

#include "tests/workloads/workload.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    N_THREADS = 2,
    N_ROUNDS = 150000,
};

static pthread_barrier_t start;

static void *go_round(void *arg)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < N_ROUNDS; i++)
        own_free(own_malloc(0), 0);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t threads[N_THREADS];
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2)
        skip("one processor: nothing is handed over between two");
    if (argc > 1 && strcmp(argv[1], "no_tsc") == 0
        && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
        skip("PR_SET_TSC is refused");
    pthread_barrier_init(&start, NULL, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, go_round, NULL);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_own();
    return 0;
}
