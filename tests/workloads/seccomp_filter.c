/* SPDX-License-Identifier: MIT */
/*
 * A seccomp filter that kills the process on any system call but the few an allocator and write(2)
 * need. Events that cannot be recorded are dropped and counted; the program lives.
 */
#include "tests/workloads/workload.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(number)                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int lock_down(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_brk),
        ALLOW(SYS_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
           && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

int main(void)
{
    own_malloc(1);
    if (!lock_down())
        skip("this kernel has no seccomp filters");
    for (int i = 0; i < 20000; i++) {
        void *block = own_malloc((unsigned)i % 3);
        if (i % 100 != 0)
            own_free(block, (unsigned)i % 3);
    }
    expect_own();
    return 0;
}
