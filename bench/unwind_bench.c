/* SPDX-License-Identifier: MIT */
/*
 * unwind_bench: nanoseconds for one capture of a stack, compared with libunwind's walk of the same
 * stack.
 *
 * same     the same call site again and again
 * pair     two call sites of one function alternately, as malloc and free
 * leaves   a call chain of three frames is left and entered again between captures
 * Usage: unwind_bench [depth…]
 */
#include "collector/unwind/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

enum {
    FRAMES_PER_MEASUREMENT = 8 * 1000 * 1000,
    MAX_CAPTURES = 200 * 1000,
    ROUNDS = 7
};

typedef void capture_function(void);

static struct unwind_memory g_memory;
static volatile uint32_t g_sink;

NOINLINE static void capture(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    struct unwind_origin origin = {.pc = (uintptr_t)__builtin_return_address(0),
                                   .cfa = (uintptr_t)(frame + 2),
                                   .fp = frame[0]};

    g_sink = unwind_capture(&g_memory, &origin);
}

NOINLINE static void walk_with_libunwind(void)
{
    static void *pcs[1 << 17];

    g_sink = (uint32_t)unw_backtrace(pcs, sizeof(pcs) / sizeof(pcs[0]));
}

static void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

/* A frame of its own for each call: the assembly behind the call keeps it from being a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

NOINLINE static void inner(capture_function *function)
{
    function();
    KEEP_FRAME();
}

NOINLINE static void middle(capture_function *function)
{
    inner(function);
    KEEP_FRAME();
}

NOINLINE static void outer(capture_function *function)
{
    middle(function);
    KEEP_FRAME();
}

static void run_same(capture_function *function, long n)
{
    for (long i = 0; i < n; i++)
        function();
}

static void run_pair(capture_function *function, long n)
{
    for (long i = 0; i < n; i += 2) {
        function();
        KEEP_FRAME();
        function();
    }
}

static void run_leaves(capture_function *function, long n)
{
    for (long i = 0; i < n; i += 2) {
        outer(function);
        KEEP_FRAME();
        outer(function);
    }
}

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double best_ns(void (*run)(capture_function *, long), capture_function *function, long n)
{
    double best = 1e18;

    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ns();
        run(function, n);
        double took = (now_ns() - start) / (double)n;
        if (took < best)
            best = took;
    }
    return best;
}

static void measure(unsigned depth)
{
    static void (*const runs[])(capture_function *, long) = {run_same, run_pair, run_leaves};
    long n = FRAMES_PER_MEASUREMENT / (depth + 100);

    if (n > MAX_CAPTURES)
        n = MAX_CAPTURES;
    printf("%7u", depth);
    for (int i = 0; i < 3; i++)
        printf(" %9.1f", best_ns(runs[i], capture, n) - best_ns(runs[i], nothing, n));
    printf(" %12.1f\n", best_ns(run_same, walk_with_libunwind, n / 20 + 1));
}

NOINLINE static void descend(unsigned depth, unsigned total)
{
    if (depth == 0)
        measure(total);
    else
        descend(depth - 1, total);
    KEEP_FRAME();
}

static void set_stack_bounds(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t n_bytes;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &n_bytes);
    pthread_attr_destroy(&attributes);
    g_memory.stack_low = (uintptr_t)low;
    g_memory.stack_high = (uintptr_t)low + n_bytes;
}

int main(int argc, char **argv)
{
    static const unsigned depths[] = {5, 20, 60, 200, 10000};
    struct unwind_settings settings = {0};

    set_stack_bounds();
    unwind_init(&settings);
    printf("  depth   same/ns   pair/ns leaves/ns libunwind/ns\n");
    for (size_t i = 0; argc < 2 && i < sizeof(depths) / sizeof(depths[0]); i++)
        descend(depths[i], depths[i]);
    for (int i = 1; i < argc; i++)
        descend((unsigned)strtoul(argv[i], NULL, 10), (unsigned)strtoul(argv[i], NULL, 10));
    unwind_memory_done(&g_memory);
    return 0;
}
