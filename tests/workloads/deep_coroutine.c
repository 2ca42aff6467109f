/* SPDX-License-Identifier: MIT */
/* A coroutine allocates below many frames without unwind tables. Its arguments: frames, blocks. */
#include "tests/workloads/workload.h"

#include <sys/mman.h>
#include <ucontext.h>

enum {
    STACK_BYTES = 1024 * 1024,
    FRAME_BYTES = 200,
};

static ucontext_t main_context, coroutine_context;
static int n_frames, n_blocks;

__attribute__((noinline)) static void descend(int n)
{
    char array[FRAME_BYTES];

    keep(array);
    if (n > 0)
        descend(n - 1);
    for (int i = 0; n == 0 && i < n_blocks; i++)
        own_free(own_malloc(1), 1);
    keep(array);
}

static void body(void)
{
    descend(n_frames);
}

int main(int argc, char **argv)
{
    n_frames = argc > 1 ? atoi(argv[1]) : 1;
    n_blocks = argc > 2 ? atoi(argv[2]) : 1;
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    coroutine_context.uc_stack.ss_size = STACK_BYTES;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, body, 0);
    swapcontext(&main_context, &coroutine_context);
    expect_own();
    return 0;
}
