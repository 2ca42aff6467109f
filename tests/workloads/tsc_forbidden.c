/* SPDX-License-Identifier: MIT */
/*
 * Reading the time stamp counter raises a signal: by prctl, or by its number (tsc_forbidden
 * syscall). After that tracing is switched on, if it was off: a thread that waits for the toggle
 * has read no time before.
 */
#include "tests/workloads/workload.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static long forbid(const char *how)
{
    if (strcmp(how, "syscall") == 0)
        return syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

static void allocate(void)
{
    for (unsigned i = 0; i < 1000; i++)
        own_free(own_malloc(i % 3), i % 3);
}

int main(int argc, char **argv)
{
    struct sigaction action;
    if (sigaction(SIGUSR2, NULL, &action) != 0)
        return 1;
    for (int i = 0; i < 100; i++)
        free(keep(malloc(10)));
    if (forbid(argc > 1 ? argv[1] : "prctl") != 0)
        skip("the time stamp counter cannot be forbidden here");
    if (action.sa_handler != SIG_DFL)
        raise(SIGUSR2);
    allocate();
    expect_own();
    return 0;
}
