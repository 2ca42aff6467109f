/* SPDX-License-Identifier: MIT */
/*
 * abandoned WAY: an alarm mostly interrupts a call that fails immediately, so that leaving it at
 * any point changes nothing in the allocator.
 *
 *   own, deep, alternate, coroutine  the handler leaves by siglongjmp, again and again: from deeper
 *             frames, from an alternate stack, or out of a coroutine. Later calls must work.
 *   handler, piece, switched  the handler makes the same call and returns: on the same stack, on an
 *             alternate one inside the thread's own, or by a context switch. The interrupted call
 *             must go on.
 */
#include "tests/workloads/workload.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

enum {
    N_ROUNDS = 2000,
    N_AFTER = 5000,
    N_CALLS = 200, /* of a round without a jump */
    LATEST_US = 60,
    DEEP = 50,
    STACK_BYTES = 256 * 1024
};

static sigjmp_buf start;
static bool leaves, switches;
static unsigned depth;
static volatile unsigned n_handled, n_before, n_rounds;
static ucontext_t main_context, handler_context, work_context;
static unsigned char work_stack[STACK_BYTES];

__attribute__((noinline)) static void fail(void)
{
    if (keep(malloc(SIZE_MAX)) != NULL)
        abort();
}

static void on_alarm(int number)
{
    (void)number;
    n_handled++;
    if (leaves)
        siglongjmp(start, 1);
    fail();
    if (switches)
        swapcontext(&handler_context, &main_context);
    fail();
}

static void start_alarm(void)
{
    struct itimerval timer = {.it_value = {0, 1 + (suseconds_t)(n_rounds * 7 % LATEST_US)}};

    n_before = n_handled;
    setitimer(ITIMER_REAL, &timer, NULL);
}

__attribute__((noinline)) static void work_at(unsigned further)
{
    if (further > 0) {
        work_at(further - 1);
        keep(&further);
        return;
    }
    for (unsigned i = 0; i < N_CALLS || n_handled == n_before; i++) {
        if (i < N_CALLS)
            fail();
        for (volatile unsigned idle = 0; idle < 20; idle++)
            continue;
    }
}

static void work(void)
{
    start_alarm();
    work_at(depth);
}

static void enter_coroutine(void)
{
    getcontext(&work_context);
    work_context.uc_stack.ss_sp = work_stack;
    work_context.uc_stack.ss_size = sizeof(work_stack);
    work_context.uc_link = &main_context;
    makecontext(&work_context, work, 0);
    swapcontext(&main_context, &work_context);
}

/* The handler switched contexts here; the interrupted code continues after it. */
static void work_elsewhere(void)
{
    enter_coroutine();
    if (n_handled == n_before)
        abort();
    fail();
    swapcontext(&main_context, &handler_context);
}

__attribute__((noinline)) static void after(void)
{
    if (keep(calloc(SIZE_MAX, 1)) != NULL)
        abort();
}

static void set_stack(void *bytes)
{
    stack_t stack = {.ss_sp = bytes, .ss_size = STACK_BYTES};

    if (sigaltstack(&stack, NULL) != 0)
        abort();
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
    static unsigned char elsewhere[STACK_BYTES];
    unsigned char piece[STACK_BYTES];
    const char *way = argc == 2 ? argv[1] : "own";
    bool is_coroutine = strcmp(way, "coroutine") == 0;

    leaves =
        strcmp(way, "handler") != 0 && strcmp(way, "piece") != 0 && strcmp(way, "switched") != 0;
    switches = strcmp(way, "switched") == 0;
    depth = strcmp(way, "deep") == 0 ? DEEP : 0;
    if (strcmp(way, "alternate") == 0)
        set_stack(elsewhere);
    if (strcmp(way, "piece") == 0)
        set_stack(piece);
    sigaction(SIGALRM, &action, NULL);
    for (n_rounds = 0; n_rounds < N_ROUNDS; n_rounds++) {
        if (sigsetjmp(start, 1) != 0)
            continue;
        if (switches)
            work_elsewhere();
        else if (is_coroutine)
            enter_coroutine();
        else
            work();
    }
    if (is_coroutine) { /* the abandoned stack serves the next coroutine */
        leaves = false;
        enter_coroutine();
    }
    for (unsigned i = 0; i < N_AFTER; i++)
        after();
    expect("whole_after", N_AFTER);
    if (!leaves && !is_coroutine)
        expect("failures", N_ROUNDS * (N_CALLS + 2 + switches) + N_AFTER);
    return 0;
}
