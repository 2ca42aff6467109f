/* SPDX-License-Identifier: MIT */
/*
 * Forks while other threads allocate; the children allocate, free an inherited block and end in
 * different ways. None of their events belongs to the parent.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum {
    N_CHILDREN = 20, /* or what the second argument says */
    N_NOISY = 3
};

static atomic_bool stop;

static void *noise(void *arg)
{
    while (!atomic_load(&stop)) {
        void *block = own_malloc(1);
        own_free(block, 1);
    }
    return arg;
}

static void be_child(int number, void *inherited)
{
    for (int i = 0; i < 100; i++)
        keep(malloc(OWN_BYTES(2)));
    free(inherited);
    if (number % 2 == 0)
        _exit(number);
    exit(number);
}

int main(int argc, char **argv)
{
    pid_t (*fork_with)(void) = argc > 1 && strcmp(argv[1], "_Fork") == 0 ? _Fork : fork;
    int n_children = argc > 2 ? atoi(argv[2]) : N_CHILDREN;
    pthread_t threads[N_NOISY];
    int status_sum = 0;
    void *inherited = own_malloc(3);

    for (int i = 0; i < N_NOISY; i++)
        pthread_create(&threads[i], NULL, noise, NULL);
    for (int i = 0; i < n_children; i++) {
        int status = 0;
        /* _Fork promises only async-signal-safe calls to the child of a threaded program. */
        pid_t child = fork_with();
        if (child == 0) {
            if (fork_with == fork)
                be_child(i, inherited);
            _exit(i);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
            return 1;
        status_sum += WEXITSTATUS(status);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < N_NOISY; i++)
        pthread_join(threads[i], NULL);
    own_free(inherited, 3);
    own_malloc(4);
    /* The number of rounds of the other threads differs from run to run, so only lasting blocks are
     * printed. */
    expect("leaked_blocks", own.allocated - own.freed);
    expect("leaked_bytes", own.allocated_bytes - own.freed_bytes);
    expect("children_status", (unsigned long long)status_sum);
    return 0;
}
