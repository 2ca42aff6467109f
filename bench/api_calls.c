/* SPDX-License-Identifier: MIT */
/*
 * api_calls N: what the calls of mtrace.h cost, and what a program costs that makes them. Ends with a line for each: nanoseconds of
 * one round. Run it alone, where the collector is absent, and recorded; rounds with and without scopes alternate, so
 * that a machine that changes its pace meanwhile changes both.
 *
 * api_calls N WHAT: that one alone, `plain` or `scoped` or `pair`, for a counter of instructions.
 */
#include "api/mtrace_objects.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    N_TURNS = 20,
    BLOCKS_PER_SCOPE = 8, /* a request that allocates next to nothing */
};

static uint32_t g_group, g_pool;

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Not seen through by the compiler. */
static void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static void serve(void)
{
    void *blocks[BLOCKS_PER_SCOPE];

    for (int i = 0; i < BLOCKS_PER_SCOPE; i++)
        blocks[i] = keep(malloc(64));
    for (int i = 0; i < BLOCKS_PER_SCOPE; i++)
        free(blocks[i]);
}

static void do_pair(long n)
{
    for (long i = 0; i < n; i++)
        mtrace_exit(mtrace_enter(g_group));
}

static void do_plain(long n)
{
    for (long i = 0; i < n; i++)
        serve();
}

static void do_scoped(long n)
{
    for (long i = 0; i < n; i++) {
        struct mtrace_scope scope = mtrace_enter(g_group);
        serve();
        mtrace_exit(scope);
    }
}

/* Two calls; recorded, two events with their stacks. */
static void do_pool(long n)
{
    static char slab[64];

    for (long i = 0; i < n; i++) {
        mtrace_pool_alloc(g_pool, keep(slab), 64);
        mtrace_pool_free(g_pool, keep(slab));
    }
}

/* A member named to nobody. */
static void do_visit(long n)
{
    static int member;

    for (long i = 0; i < n; i++)
        if (!mtrace_present())
            mtrace_visit_field(NULL, "member", keep(&member), sizeof(member), NULL);
}

static void do_empty(long n)
{
    for (long i = 0; i < n; i++)
        keep(NULL);
}

static const struct {
    const char *name;
    void (*run)(long n);
    long share; /* of N */
} g_all[] = {{"empty", do_empty, 1}, {"pair", do_pair, 1},    {"pool", do_pool, 20},
             {"visit", do_visit, 1}, {"plain", do_plain, 20}, {"scoped", do_scoped, 20}};

enum {
    N_ALL = sizeof(g_all) / sizeof(g_all[0])
};

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000;
    double best[N_ALL] = {0};

    g_group = mtrace_group_intern("bench", NULL, 0);
    g_pool = mtrace_pool_create("bench");
    for (int k = 0; argc > 2 && k < N_ALL; k++) {
        if (strcmp(argv[2], g_all[k].name) == 0) {
            g_all[k].run(n);
            return 0;
        }
    }
    for (int turn = 0; turn < N_TURNS; turn++) {
        for (int k = 0; k < N_ALL; k++) {
            long rounds = n / g_all[k].share;
            double start = now_ns();
            g_all[k].run(rounds);
            double ns = (now_ns() - start) / (double)rounds;
            best[k] = turn == 0 || ns < best[k] ? ns : best[k];
        }
    }
    printf("collector %s\n", mtrace_present() ? "present" : "absent");
    for (int k = 0; k < N_ALL; k++)
        printf("%-8s %.2f ns\n", g_all[k].name, best[k]);
    return 0;
}
