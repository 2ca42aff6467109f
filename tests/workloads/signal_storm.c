/* SPDX-License-Identifier: MIT */
/*
 * Signals interrupt threads that allocate, at random times and so also inside the allocator and the
 * collector. The handler maps and unmaps, forks now and then, and allocates if it interrupted no
 * allocation.
 */
#include "tests/workloads/workload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum {
    N_WORKERS = 3,
    N_SIGNALS = 4000,
    N_KEPT = 32,
    LATEST_NS = 60000
};

static atomic_bool stop;
static _Atomic unsigned long long n_turns, n_left_mapped, n_forked;
static atomic_uint n_started, n_handled[N_WORKERS];
static _Thread_local volatile bool in_allocator;
static _Thread_local unsigned worker;

static void map_a_page(unsigned long long number)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        _exit(1);
    if (number % 8 == 0)
        atomic_fetch_add(&n_left_mapped, 1);
    else if (munmap(page, page_bytes) != 0)
        _exit(1);
}

static void fork_a_child(void)
{
    int status = 0;
    pid_t child = _Fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(1);
    atomic_fetch_add(&n_forked, 1);
}

static void on_signal(int number)
{
    int kept_errno = errno;
    unsigned long long turn = atomic_fetch_add(&n_turns, 1);
    (void)number;
    map_a_page(turn);
    if (turn % 64 == 0)
        fork_a_child();
    if (!in_allocator)
        own_free(own_malloc(5), 5);
    errno = kept_errno;
    atomic_fetch_add(&n_handled[worker], 1);
}

static void *work(void *arg)
{
    void *kept[N_KEPT] = {NULL};
    worker = *(unsigned *)arg;
    atomic_fetch_add(&n_started, 1);
    for (unsigned i = 0; i < N_KEPT || !atomic_load(&stop); i++) {
        void **slot = &kept[i % N_KEPT];
        in_allocator = true;
        if (*slot != NULL)
            own_free(*slot, 2);
        *slot = own_malloc(2);
        in_allocator = false;
        for (volatile unsigned idle = 0; idle < 5000; idle++) /* the log stays small */
            continue;
    }
    return NULL;
}

/* Each signal comes only after the thread's last one was handled, so that their number is known. */
static void storm(pthread_t workers[N_WORKERS])
{
    unsigned seed = (unsigned)time(NULL);
    while (atomic_load(&n_started) < N_WORKERS)
        usleep(1000);
    for (unsigned i = 0; i < N_SIGNALS; i++) {
        struct timespec pause = {0, rand_r(&seed) % LATEST_NS};
        do
            nanosleep(&pause, NULL);
        while (atomic_load(&n_handled[i % N_WORKERS]) < i / N_WORKERS);
        pthread_kill(workers[i % N_WORKERS], SIGUSR1);
    }
    while (atomic_load(&n_turns) < N_SIGNALS)
        usleep(1000);
}

int main(void)
{
    static unsigned numbers[N_WORKERS];
    pthread_t workers[N_WORKERS];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (sigaction(SIGUSR1, &action, NULL) != 0)
        return 1;
    for (unsigned i = 0; i < N_WORKERS; i++) {
        numbers[i] = i;
        pthread_create(&workers[i], NULL, work, &numbers[i]);
    }
    storm(workers);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < N_WORKERS; i++)
        pthread_join(workers[i], NULL);
    /* The number of rounds of the workers differs from run to run, so only lasting blocks are
     * printed. */
    expect("leaked_blocks", own.allocated - own.freed);
    expect("leaked_bytes", own.allocated_bytes - own.freed_bytes);
    expect("mapped_pages_live", n_left_mapped);
    expect("mmap_calls", N_SIGNALS);
    expect("forked", n_forked);
    return 0;
}
