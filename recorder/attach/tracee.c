/* SPDX-License-Identifier: MIT */
#include "recorder/attach/tracee.h"

#if defined(__x86_64__)

#    include "lib/base/monotonic.h"
#    include "lib/process/proc_files.h"
#    include "recorder/attach/call_stub.h"
#    include "recorder/attach/target.h"

#    include <elf.h>
#    include <errno.h>
#    include <signal.h>
#    include <stdio.h>
#    include <sys/ptrace.h>
#    include <sys/syscall.h>
#    include <sys/uio.h>
#    include <sys/wait.h>
#    include <time.h>
#    include <unistd.h>

/* The kernel's code for a system call that it restarts if no signal handler runs. */
enum {
    RESTART_NO_HANDLER = 514
};

/* Since Linux 5.13. */
static const enum __ptrace_request get_rseq_configuration = (enum __ptrace_request)0x420f;

void tracee_nap(uint64_t ns)
{
    const struct timespec time = {.tv_nsec = (long)ns};

    nanosleep(&time, NULL);
}

enum {
    FIRST_NAP_NS = 20000,
    LAST_NAP_NS = 1000000,
    NAPS_IN_A_WAIT = 16 /* the fraction of a wait that may be wasted */
};

void tracee_nap_since(uint64_t began_ns)
{
    uint64_t ns = (monotonic_now_ns() - began_ns) / NAPS_IN_A_WAIT;

    if (ns < FIRST_NAP_NS)
        ns = FIRST_NAP_NS;
    tracee_nap(ns > LAST_NAP_NS ? LAST_NAP_NS : ns);
}

bool tracee_wait_until(struct tracee *tracee, uint64_t until_ns, int *ret_status)
{
    const uint64_t began_ns = monotonic_now_ns();
    uint64_t now_ns = began_ns;
    pid_t got;

    while ((got = waitpid(tracee->tid, ret_status, __WALL | WNOHANG)) == 0) {
        tracee->seen_ns = now_ns;
        if (now_ns >= until_ns)
            break;
        tracee_nap_since(began_ns);
        now_ns = monotonic_now_ns();
    }
    return got == tracee->tid;
}

bool tracee_get_regs(struct tracee *tracee, struct user_regs_struct *ret)
{
    struct iovec io = {ret, sizeof(*ret)};

    return ptrace(PTRACE_GETREGSET, tracee->tid, NT_PRSTATUS, &io) == 0;
}

bool tracee_set_regs(struct tracee *tracee, struct user_regs_struct *regs)
{
    struct iovec io = {regs, sizeof(*regs)};

    return ptrace(PTRACE_SETREGSET, tracee->tid, NT_PRSTATUS, &io) == 0;
}

/* The kernel ends these for a stop, too, even if no signal handler runs. */
static bool ends_for_a_stop(long long number)
{
    static const int numbers[] = {SYS_epoll_wait,      SYS_epoll_pwait, SYS_epoll_pwait2,
                                  SYS_rt_sigtimedwait, SYS_semop,       SYS_semtimedop,
                                  SYS_msgsnd,          SYS_msgrcv,      SYS_io_getevents};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (number == numbers[i])
            return true;
    return false;
}

/* If the socket has a time limit, they end for a stop, and cannot be restarted. */
static bool is_of_socket(long long number)
{
    static const int numbers[] = {SYS_accept,   SYS_accept4, SYS_connect, SYS_recvfrom, SYS_recvmsg,
                                  SYS_recvmmsg, SYS_sendto,  SYS_sendmsg, SYS_sendmmsg};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (number == numbers[i])
            return true;
    return false;
}

bool tracee_may_lose_time(pid_t pid, pid_t tid)
{
    char path[64];
    long long number = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    file = fopen(path, "re");
    if (file && fscanf(file, "%lld", &number) != 1)
        number = -1; /* it runs */
    if (file)
        (void)fclose(file);
    return ends_for_a_stop(number) || is_of_socket(number);
}

void tracee_make_restartable(struct user_regs_struct *regs)
{
    if ((long long)regs->rax == -EINTR && ends_for_a_stop((long long)regs->orig_rax))
        regs->rax = (unsigned long long)-RESTART_NO_HANDLER;
}

/* Continues as if it had not been stopped: the kernel decides whether a signal handler runs
 * first. */
static void mend_call(struct tracee *tracee)
{
    struct user_regs_struct regs;
    unsigned long long result;

    if (!tracee_get_regs(tracee, &regs))
        return;
    result = regs.rax;
    tracee_make_restartable(&regs);
    if (regs.rax != result)
        (void)tracee_set_regs(tracee, &regs);
}

void tracee_let_go(struct tracee *tracee)
{
    int status;

    mend_call(tracee);
    if (ptrace(PTRACE_DETACH, tracee->tid, 0, 0) == 0 || errno != ESRCH
        || ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) != 0
        || !tracee_wait_until(tracee, monotonic_now_ns() + TRACEE_STOP_NS, &status)
        || !WIFSTOPPED(status))
        return;
    mend_call(tracee);
    (void)ptrace(PTRACE_DETACH, tracee->tid, 0, status >> 16 ? 0 : WSTOPSIG(status) & 0x7f);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* The tracer is a thread of ours that could not release it and was joined; the kernel may release
 * its tracees only after that. */
static bool is_ours(const struct tracee *tracee, int tracer)
{
    struct thread_status status;

    return thread_status_read(getpid(), tracer, &status)
           || !thread_status_read(tracee->target->pid, tracee->tid, &status)
           || status.tracer != tracer; /* it was, and has ended by now */
}

static void refuse(const struct tracee *tracee, struct error *err)
{
    struct thread_status status;
    int tracer;

    if (tracee->tid != tracee->target->pid
        || !thread_status_read(tracee->target->pid, tracee->tid, &status) || status.state == 'Z'
        || status.state == 'X')
        return; /* it is ending, or a kernel thread */
    tracer = status.tracer;
    if (tracer > 0 && !is_ours(tracee, tracer))
        error_set(err, ERROR_IO,
                  "process %d is traced by process %d (a debugger, strace): end that first",
                  (int)tracee->target->pid, tracer);
    else if (tracer == 0)
        (void)target_report_denial(tracee->target->pid, "traced", err);
}

bool tracee_stop(struct tracee *tracee, struct error *err)
{
    struct thread_status before;
    int status;

    tracee->is_given_up = false;
    if (!thread_status_read(tracee->target->pid, tracee->tid, &before)
        || before.state == 'D') /* for example in vfork, until the child exits */
        return false;
    if (ptrace(PTRACE_SEIZE, tracee->tid, 0, PTRACE_O_TRACESYSGOOD) != 0) {
        if (errno == EPERM)
            refuse(tracee, err);
        return false;
    }
    tracee->seen_ns = monotonic_now_ns();
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0
        && tracee_wait_until(tracee, monotonic_now_ns() + TRACEE_STOP_NS, &status)
        && WIFSTOPPED(status)) {
        if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP) {
            tracee->since_ns = tracee->seen_ns;
            return true;
        }
        tracee->is_given_up = true; /* it gets its signal */
        (void)ptrace(PTRACE_DETACH, tracee->tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
        return false;
    }
    tracee_let_go(tracee);
    return false;
}

bool tracee_is_in_rseq(const struct tracee *tracee)
{
    struct {
        uint64_t pointer;
        uint32_t n_bytes, signature, flags, pad;
    } rseq = {0};

    uint64_t section = 0;

    if (ptrace(get_rseq_configuration, tracee->tid, sizeof(rseq), &rseq) <= 0 || !rseq.pointer)
        return false;
    return pread(tracee->memory, &section, sizeof(section), (off_t)rseq.pointer + 8)
               == (ssize_t)sizeof(section)
           && section != 0;
}

bool tracee_has_large_vectors(const struct tracee *tracee)
{
    static char state[2 * CALL_STUB_VECTOR_BYTES];
    struct iovec io = {state, sizeof(state)};

    return ptrace(PTRACE_GETREGSET, tracee->tid, NT_X86_XSTATE, &io) != 0
           || io.iov_len > CALL_STUB_VECTOR_BYTES;
}

#endif
