/* SPDX-License-Identifier: MIT */
/*
 * Strict seccomp: from here on only read, write and exit are allowed, and reading the time stamp
 * counter faults. The heap was grown before, so malloc itself needs no system call.
 * seccomp_strict HOW: prctl, or by number: syscall_prctl, syscall_seccomp.
 */
#include "tests/workloads/workload.h"

#include <linux/seccomp.h>
#include <malloc.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static long become_strict(const char *how)
{
    if (strcmp(how, "syscall_prctl") == 0)
        return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    if (strcmp(how, "syscall_seccomp") == 0)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

int main(int argc, char **argv)
{
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_MMAP_THRESHOLD, 1 << 28);
    free(keep(malloc(64 << 20)));
    own_malloc(1);
    if (become_strict(argc > 1 ? argv[1] : "prctl") != 0)
        skip("this kernel has no strict seccomp");
    for (int i = 0; i < 1000; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    expect_own();
    syscall(SYS_exit, 5);
}
