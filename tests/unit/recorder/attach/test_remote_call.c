/* SPDX-License-Identifier: MIT */
/* Which threads are known not to execute the collector's code. */
#include "recorder/attach/remote_call.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KERNEL_SIGNAL_BYTES = 8,
};

/* A child that stops itself and is traced, with these signals blocked by the kernel. */
static pid_t start(uint64_t signals)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0
            && syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, KERNEL_SIGNAL_BYTES) == 0)
            (void)raise(SIGSTOP);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    return pid;
}

static bool is_outside(uint64_t signals, bool has_code)
{
    const pid_t pid = start(signals);
    const struct target target = {.pid = pid, .scratch_address = 1};
    struct tracee tracee = {.target = &target, .tid = pid, .memory = -1};
    char path[64];
    bool is_outside;

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    tracee.memory = open(path, O_RDWR | O_CLOEXEC);
    assert_true(tracee.memory >= 0);
    assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &tracee.regs), 0);
    if (!has_code)
        tracee.regs.rip = tracee.regs.rsp = 0;
    is_outside = remote_call_is_outside(&tracee);
    assert_int_equal(close(tracee.memory), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, __WALL), pid);
    return is_outside;
}

/* The most that libc lets a program block: not the two signals that it uses itself. */
TEST(a_program_blocks_its_signals)
{
    assert_true(is_outside(0, true));
    assert_true(is_outside(~(UINT64_C(3) << (32 - 1)), true));
}

/* As the collector's code does, on any stack. */
TEST(all_are_blocked_on_the_way)
{
    assert_false(is_outside(UINT64_MAX, true));
}

/* As a worker of io_uring, which the kernel made. */
TEST(without_code_it_is_not_on_the_way)
{
    assert_true(is_outside(UINT64_MAX, false));
}
