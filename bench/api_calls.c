/* SPDX-License-Identifier: MIT */
/*
 * api_calls N: what the calls of mtrace.h cost, and what a program costs that makes them. Ends with
 * a line for each: nanoseconds of one round. Run it alone, where the collector is absent, and
 * recorded; rounds with and without scopes alternate, so that a machine that changes its pace
 * changes both.
 *
 * Then the program without scopes once more: with the table of live blocks, which the first
 * request begins and nothing ends (`known`), and with a tracker that adds up sizes (`reported`).
 *
 * api_calls N WHAT: that one alone, `plain` or `scoped` or `pair`, for a counter of instructions.
 */
#include "include/mtrace_objects.h"

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

/* An unnamed member. */
static void do_visit(long n)
{
    static int member;

    for (long i = 0; i < n; i++)
        if (!mtrace_present())
            mtrace_visit_field(NULL, "member", keep(&member), sizeof(member), NULL);
}

static uint64_t g_live_bytes; /* one thread */

static void add_up(const struct mtrace_event *event, void *unused)
{
    (void)unused;
    if (event->kind & MTRACE_EVENT_FREE)
        g_live_bytes -= event->size_bytes;
    else
        g_live_bytes += event->size_bytes - event->old_size_bytes;
}

static void begin_nothing(void)
{
}

static void begin_to_know(void)
{
    (void)mtrace_group_of(NULL);
}

static void begin_to_emit(void)
{
    (void)mtrace_tracker_add(add_up, NULL,
                             MTRACE_EVENT_ALLOC | MTRACE_EVENT_FREE | MTRACE_EVENT_RESIZE);
}

static void do_empty(long n)
{
    for (long i = 0; i < n; i++)
        keep(NULL);
}

enum stage {
    BARE,
    KNOWN,
    REPORTED,
    N_STAGES
};

/* How each stage begins; no stage ends. */
static void (*const g_begin[N_STAGES])(void) = {begin_nothing, begin_to_know, begin_to_emit};

static const struct what {
    const char *name;
    void (*run)(long n);
    long share; /* of N */
    enum stage stage;
} g_all[] = {{"empty", do_empty, 1, BARE},   {"pair", do_pair, 1, BARE},
             {"pool", do_pool, 20, BARE},    {"visit", do_visit, 1, BARE},
             {"plain", do_plain, 20, BARE},  {"scoped", do_scoped, 20, BARE},
             {"known", do_plain, 20, KNOWN}, {"reported", do_plain, 20, REPORTED}};

enum {
    PLAIN = 4,
    N_ALL = sizeof(g_all) / sizeof(g_all[0])
};

static double g_best[N_ALL]; /* ns */

static void measure(enum stage stage, long n)
{
    for (int k = 0; k < N_ALL; k++) {
        long rounds = n / g_all[k].share;
        double start = now_ns();
        double ns;
        if (g_all[k].stage != stage)
            continue;
        g_all[k].run(rounds);
        ns = (now_ns() - start) / (double)rounds;
        g_best[k] = g_best[k] == 0 || ns < g_best[k] ? ns : g_best[k];
    }
}

static int run_alone(const char *name, long n)
{
    for (int k = 0; k < N_ALL; k++) {
        if (strcmp(name, g_all[k].name) != 0)
            continue;
        g_begin[g_all[k].stage]();
        g_all[k].run(n);
        return 0;
    }
    fprintf(stderr, "api_calls: there is no %s\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1000000;

    g_group = mtrace_group_intern("bench", NULL, 0);
    g_pool = mtrace_pool_create("bench");
    if (argc > 2)
        return run_alone(argv[2], n);
    for (enum stage stage = BARE; stage < N_STAGES; stage++) {
        g_begin[stage]();
        for (int turn = 0; turn < N_TURNS; turn++)
            measure(stage, n);
    }
    printf("collector %s\n", mtrace_present() ? "present" : "absent");
    for (int k = 0; k < N_ALL; k++)
        printf("%-8s %9.2f ns  %6.3f of plain\n", g_all[k].name, g_best[k],
               g_best[k] / g_best[PLAIN]);
    return 0;
}
