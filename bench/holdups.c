/* SPDX-License-Identifier: MIT */
/*
 * holdups BLOCKS ROUNDS SECONDS [REQUEST]: whether a thread is delayed while another one requests a
 * report.
 *
 * Makes BLOCKS blocks from 10,000 stacks that stay. Then one thread calls malloc and free all the
 * time and measures each pair, while the other one does nothing for SECONDS, and then requests
 * reports for SECONDS, ROUNDS times alternately. Prints for both times how many pairs there were,
 * what the slowest took on the clock (which includes other load of the machine) and of the thread's
 * own processor time, in microseconds, and how often the thread waited for anything (voluntary
 * switches; the measuring makes none).
 */
#define _GNU_SOURCE
#include "include/mtrace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    N_STACKS = 10000,
    STEPS_PER_OCTAVE = 8,
    CLASSES = 40 * STEPS_PER_OCTAVE,
};

enum time_of {
    QUIET,
    ASKING,
    TIMES
};

struct latencies {
    uint64_t n, classes[CLASSES];
    uint64_t longest_ns, longest_own_ns;
    long n_waits;
};

static struct latencies g_latencies[TIMES];
static _Atomic int g_time = QUIET;
static _Atomic bool g_is_done;
static void **g_blocks;
static size_t g_n_blocks;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static unsigned class_of(uint64_t ns)
{
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns | STEPS_PER_OCTAVE);
    unsigned number =
        (octave - 3) * STEPS_PER_OCTAVE + (unsigned)(ns >> (octave - 3)) % STEPS_PER_OCTAVE;

    return number < CLASSES ? number : CLASSES - 1;
}

/* The lower bound. */
static uint64_t class_ns(unsigned number)
{
    return (uint64_t)(STEPS_PER_OCTAVE + number % STEPS_PER_OCTAVE) << number / STEPS_PER_OCTAVE;
}

static long n_waits(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void measure(struct latencies *latencies)
{
    uint64_t began_own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    void *volatile block = malloc(100);
    free(block);
    uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
    uint64_t own_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_own_ns;

    latencies->n++;
    latencies->classes[class_of(took_ns)]++;
    if (took_ns > latencies->longest_ns)
        latencies->longest_ns = took_ns;
    if (own_ns > latencies->longest_own_ns)
        latencies->longest_own_ns = own_ns;
}

static void *work(void *unused)
{
    (void)unused;
    while (!atomic_load(&g_is_done)) {
        int now = atomic_load(&g_time);
        long before = n_waits();
        while (atomic_load_explicit(&g_time, memory_order_relaxed) == now
               && !atomic_load(&g_is_done))
            measure(&g_latencies[now]);
        g_latencies[now].n_waits += n_waits() - before;
    }
    return NULL;
}

/* One of ten calls of the next level: four levels are 10,000 stacks. */
static void deeper(unsigned number, unsigned level)
{
    if (level == 0) {
        g_blocks[g_n_blocks] = malloc(16 + g_n_blocks % 200);
        g_n_blocks++;
        return;
    }
    switch (number % 10) {
#define CALL(digit)                        \
    case digit:                            \
        deeper(number / 10, level - 1);    \
        __asm__ volatile("" ::: "memory"); \
        break;
        CALL(0)
        CALL(1)
        CALL(2)
        CALL(3)
        CALL(4)
        CALL(5)
        CALL(6)
        CALL(7)
        CALL(8)
        CALL(9)
    default:
        break;
    }
}

static unsigned ask_for(double seconds, const char *request)
{
    uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    unsigned n = 0;

    do {
        int code = mtrace_report(request, nowhere);
        if (code) {
            fprintf(stderr, "holdups: the request got %d\n", code);
            exit(1);
        }
        n++;
    } while (clock_ns(CLOCK_MONOTONIC) < until_ns);
    close(nowhere);
    return n;
}

static double at_share(const struct latencies *latencies, double share)
{
    uint64_t wanted = (uint64_t)((double)latencies->n * share);
    uint64_t n = 0;

    for (unsigned i = 0; i < CLASSES; i++)
        if ((n += latencies->classes[i]) > wanted)
            return (double)class_ns(i) / 1000;
    return (double)latencies->longest_ns / 1000;
}

static void print(const char *name, const struct latencies *latencies)
{
    printf("%s %lu %.2f %.2f %.2f %.2f %.1f %.1f %ld\n", name, (unsigned long)latencies->n,
           at_share(latencies, 0.5), at_share(latencies, 0.999), at_share(latencies, 0.99999),
           at_share(latencies, 0.999999), (double)latencies->longest_ns / 1000,
           (double)latencies->longest_own_ns / 1000, latencies->n_waits);
}

int main(int argc, char **argv)
{
    size_t n_blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    int n_rounds = argc > 2 ? atoi(argv[2]) : 5;
    double for_seconds = argc > 3 ? atof(argv[3]) : 1;
    const char *request = argc > 4 ? argv[4] : "groups --csv --count 0 --no-symbols";
    unsigned n_asked = 0;
    pthread_t worker;

    g_blocks = calloc(n_blocks + 1, sizeof *g_blocks);
    if (!g_blocks)
        return 1;
    for (size_t i = 0; i < n_blocks; i++)
        deeper((unsigned)(i % N_STACKS), 4);
    ask_for(0, request); /* the first one begins an import */
    if (pthread_create(&worker, NULL, work, NULL) != 0)
        return 1;
    for (int i = 0; i < n_rounds; i++) {
        atomic_store(&g_time, QUIET);
        usleep((useconds_t)(for_seconds * 1e6));
        atomic_store(&g_time, ASKING);
        n_asked += ask_for(for_seconds, request);
    }
    atomic_store(&g_is_done, true);
    pthread_join(worker, NULL);
    print("quiet", &g_latencies[QUIET]);
    print("asking", &g_latencies[ASKING]);
    printf("asked %u\n", n_asked);
    return 0;
}
