/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers that allocate, on the interrupted stack and on one of their own, once in a leaf
 * function whose return address is in a register, if the processor has one for it.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf g_back;
static void *volatile g_block;
static int *volatile g_nowhere;

static void allocate(int number)
{
    g_block = malloc((size_t)number);
    free(g_block);
}

static void allocate_and_leave(int number)
{
    allocate(number);
    siglongjmp(g_back, 1);
}

/* Faults at its first access: a leaf without a frame. libunwind looks on i386 at the byte before
 * what was interrupted, and finds no function there if that is the first instruction of one. */
__attribute__((noinline)) static int read_nowhere(const volatile int *place)
{
#if defined(FAULTS_LATER)
    __asm__ volatile("nop");
#endif
    /* The line of the access, wherever that of `return` begins; and not in a delay slot, of which
     * the jump is said to fault. */
    __asm__ volatile("nop" : : "r"(*place));
    return 0;
}

__attribute__((noinline)) static int call_leaf(void)
{
    volatile int result = read_nowhere(g_nowhere);

    return result + 1;
}

int main(void)
{
    static char stack[1 << 16];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = allocate};

    sigaltstack(&other, NULL);
    for (int i = 0; i < 200; i++) {
        action.sa_flags = i % 2 ? SA_ONSTACK : 0;
        action.sa_handler = allocate;
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
        action.sa_handler = allocate_and_leave;
        sigaction(SIGSEGV, &action, NULL);
        if (sigsetjmp(g_back, 1) == 0)
            call_leaf();
    }
    return 0;
}
