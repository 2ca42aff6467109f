/* SPDX-License-Identifier: MIT */
/*
 * A timer's handler forks, also where it interrupted the allocator or the collector. The child
 * returns from the handler and continues the interrupted code of its parent.
 *
 * fork_in_handler HOW N_FORKS [N_THREADS]: fork; atfork, whose handler in the child allocates;
 * _Fork; syscall. N_THREADS others have allocated and wait.
 */
#include "tests/workloads/workload.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

enum {
    N_BLOCKS = 100,
    STACK_BYTES = 65536,
    LATEST_US = 300
};

static const char *how;
static volatile sig_atomic_t is_child, is_armed;
static volatile unsigned n_forked, n_well;
static pthread_barrier_t all_have_allocated;

static void allocate_after_fork(void)
{
    free(keep(malloc(OWN_BYTES(8))));
}

static pid_t fork_as_asked(void)
{
    if (strcmp(how, "_Fork") == 0)
        return _Fork();
    if (strcmp(how, "syscall") == 0)
        return (pid_t)syscall(SYS_fork);
    return fork();
}

static void on_alarm(int number)
{
    int status = -1;
    pid_t child = fork_as_asked();
    (void)number;
    if (child == 0) {
        is_child = 1;
        return;
    }
    n_forked++;
    n_well += waitpid(child, &status, 0) == child && status == 0;
    is_armed = 0;
}

static void be_child(void)
{
    for (int i = 0; i < N_BLOCKS; i++)
        keep(malloc(OWN_BYTES(3)));
    _exit(0);
}

static void *wait_forever(void *unused)
{
    (void)unused;
    free(keep(malloc(10)));
    pthread_barrier_wait(&all_have_allocated);
    for (;;)
        pause();
    return NULL;
}

static void start_threads(unsigned n_threads)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_barrier_init(&all_have_allocated, NULL, n_threads + 1);
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, wait_forever, NULL) != 0)
            skip("so many threads cannot be had");
    }
    pthread_barrier_wait(&all_have_allocated);
}

static void work_until(unsigned n_forks)
{
    own_free(own_malloc(0), 0); /* the first block of all takes locks, whatever its size */
    while (n_forked < n_forks) {
        void *block;
        if (!is_armed && !is_child) {
            struct itimerval soon = {.it_value.tv_usec = 100 + rand() % LATEST_US};
            is_armed = 1;
            setitimer(ITIMER_REAL, &soon, NULL);
        }
        /* Of a size for which glibc takes no lock: fork is allowed then. */
        block = own_malloc(0);
        own_free(block, 0);
        if (is_child)
            be_child();
    }
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    unsigned n_forks = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
    sigset_t alarm;
    how = argc > 1 ? argv[1] : "fork";
    if (strcmp(how, "atfork") == 0)
        pthread_atfork(NULL, NULL, allocate_after_fork);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    if (argc > 3)
        start_threads((unsigned)atoi(argv[3]));
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    work_until(n_forks);
    expect("forked", n_forks);
    expect("children_well", n_well);
    expect("children_blocks", (unsigned long long)n_forks * N_BLOCKS);
    expect("leaked_blocks", 0);
    fflush(stdout);
    _exit(n_well == n_forks ? 0 : 1);
}
