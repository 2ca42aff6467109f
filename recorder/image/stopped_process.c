/* SPDX-License-Identifier: MIT */
#include "recorder/image/stopped_process.h"

#include <stdlib.h>

#if defined(__x86_64__)

#    include "lib/base/dynamic_array.h"
#    include "lib/base/fault_point.h"
#    include "lib/base/monotonic.h"
#    include "lib/process/proc_files.h"
#    include "recorder/attach/target.h"
#    include "recorder/attach/tracee.h"

#    include <errno.h>
#    include <linux/elf.h>
#    include <signal.h>
#    include <string.h>
#    include <sys/ptrace.h>
#    include <sys/uio.h>
#    include <sys/wait.h>

_Static_assert(sizeof(struct user_regs_struct) == sizeof(((struct stopped_thread *)0)->registers),
               "registers");

enum {
    NAP_NS = 100000
};

static bool is_known(const struct stopped_process *process, pid_t tid)
{
    for (size_t i = process->n_threads; i > 0; i--)
        if (process->threads[i - 1].tid == tid)
            return true;
    return false;
}

static bool is_ending(pid_t pid, pid_t tid, int *ret_tracer)
{
    struct thread_status status;
    bool is_there = thread_status_read(pid, tid, &status);

    *ret_tracer = is_there ? status.tracer : 0;
    return !is_there || status.state == 'Z' || status.state == 'X';
}

static int explain_denial(const struct stopped_process *process, pid_t tid, struct error *err)
{
    int tracer;

    if (is_ending(process->pid, tid, &tracer))
        return 0;
    if (tracer)
        return error_set(err, ERROR_IO,
                         "process %d is traced by process %d (a debugger, strace): end that first",
                         (int)process->pid, tracer);
    return target_report_denial(process->pid, "traced", err);
}

static int seize(struct stopped_process *process, pid_t tid, struct error *err)
{
    struct stopped_thread *threads;

    if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
        return errno == EPERM ? explain_denial(process, tid, err) : 0;
    threads = dynamic_array_reserve(process->threads, &process->capacity, process->n_threads + 1,
                                    sizeof(*threads));
    if (!threads)
        return error_set(err, ERROR_NOMEM, "not enough memory");
    process->threads = threads;
    threads[process->n_threads++] = (struct stopped_thread){.tid = tid};
    (void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
    fault_point("image_seized");
    return 0;
}

static int seize_new(struct stopped_process *process, struct error *err)
{
    pid_t *tids;
    ssize_t n = process_threads_list(process->pid, &tids);
    int code = 0;

    for (ssize_t i = 0; i < n && code == 0; i++)
        if (!is_known(process, tids[i]))
            code = seize(process, tids[i], err);
    free(tids);
    return n < 0 ? error_set(err, ERROR_IO, "the threads of process %d cannot be listed",
                             (int)process->pid)
                 : code;
}

/* Does not take the report of an end (WEXITED), which is the session's. */
static void look(const struct stopped_process *process, struct stopped_thread *thread)
{
    siginfo_t info = {.si_pid = 0};
    int tracer;

    if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL) == 0
        && info.si_pid == thread->tid) {
        thread->is_stopped = true;
        thread->signal = info.si_status >> 8 ? 0 : info.si_status;
        return;
    }
    thread->has_ended = is_ending(process->pid, thread->tid, &tracer);
}

static bool have_all_stopped(struct stopped_process *process, size_t first)
{
    bool have_all = true;

    for (size_t i = first; i < process->n_threads; i++) {
        struct stopped_thread *thread = &process->threads[i];

        if (!thread->is_stopped && !thread->has_ended)
            look(process, thread);
        have_all = have_all && (thread->is_stopped || thread->has_ended);
    }
    return have_all;
}

static bool get_registers(pid_t tid, struct user_regs_struct *ret)
{
    struct iovec io = {ret, sizeof(*ret)};

    return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) == 0;
}

static int read_registers(struct stopped_process *process, struct error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < process->n_threads; i++) {
        struct stopped_thread *thread = &process->threads[i];
        struct user_regs_struct regs;

        if (!thread->is_stopped || !get_registers(thread->tid, &regs))
            continue;
        memcpy(thread->registers, &regs, sizeof(regs));
        thread->sp = regs.rsp;
        thread->thread_pointer = regs.fs_base;
        n++;
    }
    return n ? 0 : error_set(err, ERROR_NOT_FOUND, "process %d has ended", (int)process->pid);
}

int stopped_process_stop(pid_t pid, uint64_t until_ns, struct stopped_process *ret_process,
                         struct error *err)
{
    struct stopped_process *process = ret_process;
    size_t n_before;
    int code = 0;

    *process = (struct stopped_process){.pid = pid};
    do {
        n_before = process->n_threads;
        code = seize_new(process, err);
        while (code == 0 && !have_all_stopped(process, n_before)) {
            if (monotonic_now_ns() > until_ns)
                code = error_set(err, ERROR_IO, "a thread of process %d does not stop in time",
                                 (int)pid);
            tracee_nap(NAP_NS);
        }
    } while (code == 0 && process->n_threads != n_before);
    return code ? code : read_registers(process, err);
}

/* A thread that does not stop yet is released when the tracing thread ends. */
void stopped_process_let_go(struct stopped_process *process)
{
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct stopped_thread *thread = &process->threads[i];
        struct user_regs_struct regs;

        if (!thread->is_stopped)
            continue;
        if (thread->signal == 0 && get_registers(thread->tid, &regs)) {
            struct iovec io = {&regs, sizeof(regs)};
            unsigned long long result = regs.rax;

            tracee_make_restartable(&regs);
            if (regs.rax != result)
                (void)ptrace(PTRACE_SETREGSET, thread->tid, NT_PRSTATUS, &io);
        }
        (void)ptrace(PTRACE_DETACH, thread->tid, 0, thread->signal);
        fault_point("image_released");
    }
    free(process->threads);
    *process = (struct stopped_process){.pid = 0};
}

#else

int stopped_process_stop(pid_t pid, uint64_t until_ns, struct stopped_process *ret_process,
                         struct error *err)
{
    (void)until_ns;
    *ret_process = (struct stopped_process){.pid = pid};
    return error_set(err, ERROR_USAGE, "heap images are taken on x86-64 only");
}

void stopped_process_let_go(struct stopped_process *process)
{
    free(process->threads);
}

#endif
