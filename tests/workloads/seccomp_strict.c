/* SPDX-License-Identifier: MIT */
/*
 * Strict seccomp: from here on only read, write and exit are allowed, and reading the time stamp
 * counter faults. The heap was grown before, so malloc itself needs no system call.
 */
#include "tests/workloads/workload.h"

#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

int main(void)
{
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    free(keep(malloc(64 << 20)));
    own_malloc(1);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        skip("this kernel has no strict seccomp");
    for (int i = 0; i < 1000; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    expect_own();
    syscall(SYS_exit, 5);
}
