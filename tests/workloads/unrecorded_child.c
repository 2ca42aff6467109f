/* SPDX-License-Identifier: MIT */
/*
 * A fork child that is not followed reads no time stamp: it forbids itself the counter by an
 * instruction of its own, which the collector does not see, and would die of reading it.
 */
#include "tests/workloads/workload.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static long forbid_counter_unseen(void)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_prctl), "D"(PR_SET_TSC), "S"(PR_TSC_SIGSEGV)
                     : "rcx", "r11", "memory");
    return result;
#else
    return -1;
#endif
}

static void be_child(void *inherited)
{
    void *block = NULL;
    if (forbid_counter_unseen() != 0)
        _exit(77);
    for (int i = 0; i < 1000; i++)
        block = keep(realloc(block, OWN_BYTES(i % 3)));
    free(block);
    free(keep(calloc(3, 7)));
    free(keep(aligned_alloc(64, 640)));
    free(inherited);
    keep(malloc(SIZE_MAX / 4));
    _exit(0);
}

int main(void)
{
    void *inherited = own_malloc(1);
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        be_child(inherited);
    if (waitpid(child, &status, 0) != child)
        return 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip("the time stamp counter cannot be forbidden here");
    for (unsigned i = 0; i < 20; i++)
        own_malloc(2);
    expect_own();
    expect("child_status", (unsigned long long)status);
    return 0;
}
