/* SPDX-License-Identifier: MIT */
/*
 * report_requests BLOCKS REQUESTS SECONDS [REQUEST [ADDITIONS]]: makes BLOCKS blocks from 10,000
 * stacks that stay, and as many that do not. Then it works for SECONDS of its own processor time as
 * a program does between allocations (ADDITIONS for each pair of malloc and free), and requests
 * REQUESTS reports during that. Prints for each how many milliseconds of CLOCK_MONOTONIC the
 * requesting thread has waited.
 */
#include "include/mtrace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    N_STACKS = 10000,
    /* a tenth of the time is malloc and free, as in a program that does little else */
    ADDITIONS_PER_PAIR = 400,
    ADDITIONS_PER_LOOK = 400000, /* at the clock */
};

static void **g_blocks;
static size_t g_n_blocks;
static volatile unsigned g_sum;

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Makes one of ten calls of the next level: four levels are 10,000 stacks. Each has code of its own
 * after the call, because a compiler merges equal calls. */
#define CALL(next, digit)             \
    case digit:                       \
        next(number / 10);            \
        __asm__ volatile("#" #digit); \
        break;
#define LEVEL(name, next)                                       \
    __attribute__((noinline)) static void name(unsigned number) \
    {                                                           \
        switch (number % 10) {                                  \
            CALL(next, 0)                                       \
            CALL(next, 1)                                       \
            CALL(next, 2)                                       \
            CALL(next, 3)                                       \
            CALL(next, 4)                                       \
            CALL(next, 5)                                       \
            CALL(next, 6)                                       \
            CALL(next, 7)                                       \
            CALL(next, 8)                                       \
            CALL(next, 9)                                       \
        }                                                       \
        g_sum += number;                                        \
    }

__attribute__((noinline)) static void leaf(unsigned number)
{
    g_blocks[g_n_blocks] = malloc(16 + g_n_blocks % 200);
    g_n_blocks++;
    free(malloc(40));
    g_sum += number;
}

LEVEL(fourth, leaf)
LEVEL(third, fourth)
LEVEL(second, third)
LEVEL(first, second)

static void work(double for_seconds, unsigned n_additions)
{
    double until = seconds(CLOCK_PROCESS_CPUTIME_ID) + for_seconds;

    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < until)
        for (unsigned n = 0; n < ADDITIONS_PER_LOOK; n += n_additions) {
            void *block = malloc(100);
            for (unsigned k = 0; k < n_additions; k++)
                g_sum += k;
            free(block);
        }
}

static void ask(const char *request)
{
    int nowhere = open("/dev/null", O_WRONLY);
    double began = seconds(CLOCK_MONOTONIC);
    int code = mtrace_report(request, nowhere);

    printf("%d %.3f\n", code, (seconds(CLOCK_MONOTONIC) - began) * 1000);
    close(nowhere);
}

int main(int argc, char **argv)
{
    size_t n_blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    int n_requests = argc > 2 ? atoi(argv[2]) : 0;
    double for_seconds = argc > 3 ? atof(argv[3]) : 1;
    unsigned n_additions = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : ADDITIONS_PER_PAIR;

    if (n_additions == 0)
        n_additions = 1;
    g_blocks = calloc(n_blocks + 1, sizeof *g_blocks);
    if (!g_blocks)
        return 1;
    for (size_t i = 0; i < n_blocks; i++)
        first((unsigned)(i % N_STACKS));
    for (int i = 0; i <= n_requests; i++) {
        work(for_seconds / (n_requests + 1), n_additions);
        if (i < n_requests)
            ask(argc > 4 ? argv[4] : "groups --csv --count 0 --no-symbols");
    }
    return 0;
}
