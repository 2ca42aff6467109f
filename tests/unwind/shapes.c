/* SPDX-License-Identifier: MIT */
/*
 * Stacks of every shape that C compilers make, built with many options. A deterministic random walk
 * calls from one shape into another, so that successive stacks share, replace and lose frames in
 * all combinations.
 */
#include "tests/unwind/probe.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))

typedef uint64_t shape(uint32_t *seed, unsigned depth, uint64_t value);

static probe_function *g_probe;
static volatile uint64_t g_sink;

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static uint64_t call_random(uint32_t *seed, unsigned depth, uint64_t value);

NOINLINE static uint64_t leaf(uint32_t *seed, unsigned depth, uint64_t value)
{
    (void)depth;
    g_probe();
    return value + next(seed);
}

NOINLINE static uint64_t plain(uint32_t *seed, unsigned depth, uint64_t value)
{
    uint64_t result = call_random(seed, depth, value + 1);

    g_probe();
    return result + value;
}

/* Enough live values to need every callee-saved register, rbp as a counter among them. */
NOINLINE static uint64_t many_registers(uint32_t *seed, unsigned depth, uint64_t value)
{
    uint64_t a = value;
    uint64_t b = value * 3;
    uint64_t c = value ^ 5;
    uint64_t d = value + 7;
    uint64_t e = value - 11;

    for (unsigned i = 0; i < 3; i++) {
        a += call_random(seed, depth, b) * c;
        b ^= a + d;
        c += b - e;
        g_probe();
        d ^= c;
        e += d + i;
    }
    return a + b + c + d + e;
}

NOINLINE static uint64_t variable_array(uint32_t *seed, unsigned depth, uint64_t value)
{
    size_t n = 1 + next(seed) % 300;
    volatile char array[n];

    array[0] = (char)value;
    array[n - 1] = 1;
    g_probe();
    value += call_random(seed, depth, value);
    return value + (uint64_t)array[0] + (uint64_t)array[n - 1];
}

NOINLINE static uint64_t allocas(uint32_t *seed, unsigned depth, uint64_t value)
{
    for (unsigned i = 0; i < 3; i++) {
        volatile char *block = alloca(16 + next(seed) % 200);
        block[0] = (char)i;
        value += call_random(seed, depth, value) + (uint64_t)block[0];
        g_probe();
    }
    return value;
}

/* Realigns the stack pointer: CFA behind a dereference with gcc. */
NOINLINE static uint64_t realigned(uint32_t *seed, unsigned depth, uint64_t value)
{
    _Alignas(64) volatile uint64_t vector[16];

    for (unsigned i = 0; i < 16; i++)
        vector[i] = value + i;
    value += call_random(seed, depth, vector[3]);
    g_probe();
    return value + vector[7];
}

NOINLINE static uint64_t realigned_variable(uint32_t *seed, unsigned depth, uint64_t value)
{
    _Alignas(128) volatile uint64_t vector[16];
    volatile char *block = alloca(16 + next(seed) % 500);

    block[0] = (char)value;
    vector[0] = value;
    g_probe();
    value += call_random(seed, depth, vector[0]);
    return value + (uint64_t)block[0];
}

NOINLINE static uint64_t take_many(uint32_t *seed, unsigned depth, uint64_t a, uint64_t b,
                                   uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g)
{
    g_probe();
    return call_random(seed, depth, a + b + c) + d + e + f + g;
}

NOINLINE static uint64_t stack_arguments(uint32_t *seed, unsigned depth, uint64_t value)
{
    uint64_t first = take_many(seed, depth, value, 1, 2, 3, 4, 5, value);

    return first + take_many(seed, depth, 1, first, 2, 3, value, 4, 5);
}

static int compare(const void *a, const void *b)
{
    const int *left = a;
    const int *right = b;

    g_probe();
    return (*left > *right) - (*left < *right);
}

/* A callback through libc. */
NOINLINE static uint64_t sorted(uint32_t *seed, unsigned depth, uint64_t value)
{
    int numbers[6];

    (void)depth;
    for (unsigned i = 0; i < 6; i++)
        numbers[i] = (int)next(seed);
    qsort(numbers, 6, sizeof(numbers[0]), compare);
    return value + (uint64_t)numbers[0];
}

NOINLINE static uint64_t tail(uint32_t *seed, unsigned depth, uint64_t value)
{
    return call_random(seed, depth, value ^ 1);
}

static shape *const g_shapes[] = {leaf,    plain,     many_registers,     variable_array,
                                  allocas, realigned, realigned_variable, stack_arguments,
                                  sorted,  tail,      many_registers,     plain};

static uint64_t call_random(uint32_t *seed, unsigned depth, uint64_t value)
{
    if (depth == 0)
        return leaf(seed, 0, value);
    return g_shapes[next(seed) % (sizeof(g_shapes) / sizeof(g_shapes[0]))](seed, depth - 1, value);
}

NOINLINE static uint64_t recurse(unsigned depth)
{
    if (depth % 512 == 0)
        g_probe();
    return depth == 0 ? 0 : recurse(depth - 1) + 1;
}

/* ---- signals ---- */

static uint32_t g_handler_seed = 7;
static sigjmp_buf g_jump;
static volatile sig_atomic_t g_jumps;

static void handle(int number)
{
    (void)number;
    g_sink += call_random(&g_handler_seed, 3, 1);
    g_probe();
    if (g_jumps)
        siglongjmp(g_jump, 1);
}

static void set_handler(int flags)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = handle;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, NULL);
}

NOINLINE static void interrupt_with(int flags)
{
    uint32_t seed = 3;

    set_handler(flags);
    raise(SIGUSR1);
    g_sink += call_random(&seed, 4, 1);
    raise(SIGUSR1);
}

/* A fault in the middle of a function: the interrupted pc is not behind a call. */
static volatile uint64_t *volatile g_bad_page;

static void handle_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    g_probe();
    mprotect((void *)(uintptr_t)g_bad_page, 4096, PROT_READ | PROT_WRITE);
}

NOINLINE static uint64_t fault(uint64_t value)
{
    mprotect((void *)(uintptr_t)g_bad_page, 4096, PROT_NONE);
    *g_bad_page = value;
    return *g_bad_page + 1;
}

static void fault_in_places(void)
{
    struct sigaction action;

    g_bad_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handle_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    for (unsigned i = 0; i < 4; i++)
        g_sink += fault(i);
    /* inside libc's hand-written memset */
    mprotect((void *)(uintptr_t)g_bad_page, 4096, PROT_NONE);
    memset((void *)(uintptr_t)g_bad_page, 1, 4000);
    signal(SIGSEGV, SIG_DFL);
}

static void jump_out(void)
{
    g_jumps = 1;
    for (unsigned i = 0; i < 8; i++)
        if (sigsetjmp(g_jump, 1) == 0)
            interrupt_with(i % 2 ? SA_ONSTACK : 0);
    g_jumps = 0;
}

static void run_signals(void)
{
    stack_t alternate = {.ss_size = 256 * 1024};
    stack_t none = {.ss_flags = SS_DISABLE};

    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    for (unsigned i = 0; i < 4; i++) {
        interrupt_with(0);
        interrupt_with(SA_ONSTACK);
        interrupt_with(SA_ONSTACK | SA_NODEFER);
    }
    fault_in_places();
    jump_out();
    sigaltstack(&none, NULL);
    free(alternate.ss_sp);
}

/* ---- coroutines ---- */

enum {
    N_COROUTINES = 6,
    COROUTINE_STACK_BYTES = 128 * 1024
};

static ucontext_t g_main_context;
static ucontext_t g_coroutines[N_COROUTINES];
static unsigned g_current;

static void run_coroutine(void)
{
    uint32_t seed = 11 + g_current;

    for (unsigned i = 0; i < 5; i++) {
        g_sink += call_random(&seed, 3 + i % 3, i);
        raise(SIGUSR1); /* a handler on the alternate stack, over this one */
        swapcontext(&g_coroutines[g_current], &g_main_context);
    }
}

/* Stacks are unmapped and made again between rounds: nothing remembered of them may be touched. */
static void run_coroutines(void)
{
    stack_t alternate = {.ss_size = 256 * 1024};
    stack_t none = {.ss_flags = SS_DISABLE};

    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    set_handler(SA_ONSTACK);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < N_COROUTINES; i++) {
            getcontext(&g_coroutines[i]);
            g_coroutines[i].uc_stack.ss_size = COROUTINE_STACK_BYTES;
            g_coroutines[i].uc_stack.ss_sp =
                mmap(NULL, COROUTINE_STACK_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            g_coroutines[i].uc_link = &g_main_context;
            makecontext(&g_coroutines[i], run_coroutine, 0);
        }
        for (unsigned i = 0; i < 6 * N_COROUTINES; i++) {
            g_current = i % N_COROUTINES;
            if (i < 5 * N_COROUTINES)
                swapcontext(&g_main_context, &g_coroutines[g_current]);
            else
                munmap(g_coroutines[g_current].uc_stack.ss_sp, COROUTINE_STACK_BYTES);
            raise(SIGUSR1);
        }
    }
    sigaltstack(&none, NULL);
    free(alternate.ss_sp);
}

static void *run_thread(void *argument)
{
    uint32_t seed = 99;

    g_sink += call_random(&seed, 6, 1);
    return argument;
}

void shapes_run(probe_function *probe)
{
    pthread_t thread;
    uint32_t seed = 1;

    g_probe = probe;
    for (unsigned i = 0; i < 40; i++)
        g_sink += call_random(&seed, 4 + i % 5, i);
    g_sink += recurse(20000);
    g_sink += recurse(20000);
    run_signals();
    run_coroutines();
    pthread_create(&thread, NULL, run_thread, NULL);
    pthread_join(thread, NULL);
}
