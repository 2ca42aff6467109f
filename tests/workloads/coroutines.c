/* SPDX-License-Identifier: MIT */
/*
 * Coroutines with ucontext: the stack changes below one thread, and stacks are unmapped when no
 * coroutine runs on them. A collector that caches a stack must not read it without a check.
 */
#include "tests/workloads/workload.h"

#include <sys/mman.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 256 * 1024,
    N_COROUTINES = 8,
    N_GENERATIONS = 50
};

static ucontext_t main_context;
static ucontext_t contexts[N_COROUTINES];

__attribute__((noinline)) static void descend(unsigned depth, unsigned number)
{
    void *block = own_malloc(depth % 3);
    if (depth > 0)
        descend(depth - 1, number);
    else
        swapcontext(&contexts[number], &main_context);
    own_free(block, depth % 3);
}

static void body(int number)
{
    descend(5 + (unsigned)number, (unsigned)number);
    own_malloc(4);
}

int main(void)
{
    for (int generation = 0; generation < N_GENERATIONS; generation++) {
        void *stacks[N_COROUTINES];
        for (int i = 0; i < N_COROUTINES; i++) {
            stacks[i] = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
            getcontext(&contexts[i]);
            contexts[i].uc_stack.ss_sp = stacks[i];
            contexts[i].uc_stack.ss_size = STACK_BYTES;
            contexts[i].uc_link = &main_context;
            makecontext(&contexts[i], (void (*)(void))body, 1, i);
        }
        for (int step = 0; step < 2; step++)
            for (int i = 0; i < N_COROUTINES; i++) {
                swapcontext(&main_context, &contexts[i]);
                own_free(own_malloc(2), 2);
            }
        for (int i = 0; i < N_COROUTINES; i++)
            munmap(stacks[i], STACK_BYTES);
        own_free(own_malloc(1), 1);
    }
    expect_own();
    return 0;
}
