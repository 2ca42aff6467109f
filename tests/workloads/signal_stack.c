/* SPDX-License-Identifier: MIT */
/*
 * A signal handler allocates on an alternate stack that leaves it 2 KiB beside the kernel's frame,
 * with an inaccessible page below.
 */
#include "tests/workloads/workload.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef AT_MINSIGSTKSZ
#    define AT_MINSIGSTKSZ 51
#endif

enum {
    ROOM_BYTES = 2048,
    N_SIGNALS = 20000
};

static void on_signal(int number)
{
    (void)number;
    own_free(own_malloc(0), 0);
}

int main(void)
{
    size_t frame_bytes = getauxval(AT_MINSIGSTKSZ);
    size_t stack_bytes = (frame_bytes > 0 ? frame_bytes : 2048) + ROOM_BYTES;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (stack_bytes + page_bytes - 1) / page_bytes * page_bytes;
    char *pages =
        mmap(NULL, page_bytes + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages, page_bytes, PROT_NONE) != 0)
        return 1;
    stack_t stack = {.ss_sp = pages + page_bytes, .ss_size = stack_bytes};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        return 1;
    own_malloc(1); /* the loader's lazy binding and malloc's own start need more stack */
    own_free(own_malloc(0), 0);
    for (int i = 0; i < N_SIGNALS; i++)
        raise(SIGUSR1);
    expect_own();
    return 0;
}
