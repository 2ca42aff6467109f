/* SPDX-License-Identifier: MIT */
/* longjmp over frames that allocated, and siglongjmp out of a signal handler that allocated. */
#include "tests/workloads/workload.h"

#include <setjmp.h>
#include <signal.h>

static jmp_buf target;
static sigjmp_buf signal_target;

__attribute__((noinline)) static void descend(unsigned depth, unsigned leave_at)
{
    void *block = own_malloc(depth % 4);
    if (depth == leave_at)
        longjmp(target, 1);
    descend(depth + 1, leave_at);
    own_free(block, depth % 4);
}

static void on_signal(int number)
{
    (void)number;
    own_malloc(1);
    siglongjmp(signal_target, 1);
}

int main(void)
{
    for (volatile unsigned leave_at = 0; leave_at < 200; leave_at++) {
        if (setjmp(target) == 0)
            descend(0, leave_at);
        own_malloc(5);
    }
    signal(SIGUSR1, on_signal);
    for (volatile int i = 0; i < 1000; i++) {
        if (sigsetjmp(signal_target, 1) == 0)
            raise(SIGUSR1);
        own_malloc(2);
    }
    expect_own();
    return 0;
}
