/* SPDX-License-Identifier: MIT */
#include "recorder/attaching/attaching.h"

#if defined(__x86_64__)

#    include "recorder/attaching/entry_code.h"
#    include "recorder/attaching/safe_place.h"
#    include "recorder/attaching/target.h"
#    include "support/monotonic.h"
#    include "support/printable.h"

#    include <dirent.h>
#    include <elf.h>
#    include <errno.h>
#    include <fcntl.h>
#    include <pthread.h>
#    include <signal.h>
#    include <stdbool.h>
#    include <stdio.h>
#    include <stdlib.h>
#    include <string.h>
#    include <sys/file.h>
#    include <sys/ptrace.h>
#    include <sys/syscall.h>
#    include <sys/uio.h>
#    include <sys/user.h>
#    include <sys/wait.h>
#    include <time.h>
#    include <unistd.h>

enum {
    MOST_STOPS = 1000000, /* system calls and signals while the library is loaded */
    /* Of the kernel: a system call that it will begin anew. */
    RESTART_FIRST = 512,
    RESTART_NO_HANDLER = 514,
    RESTART_BLOCK = 516,
};

/* Of Linux 5.13. */
static const enum __ptrace_request get_rseq_configuration = (enum __ptrace_request)0x420f;

static const uint64_t search_ns = 2000000000; /* for a thread at a safe place */
static const uint64_t stop_ns = 50000000;     /* until a thread stops */
static const uint64_t call_ns = 10000000000;  /* until the call is done */

static void nap(uint64_t ns)
{
    const struct timespec time = {.tv_nsec = (long)ns};

    nanosleep(&time, NULL);
}

struct tracee {
    const struct target *target;
    pid_t tid;
    int memory;                      /* /proc/PID/mem */
    struct user_regs_struct stopped; /* as it was */
    struct user_regs_struct regs;    /* with which it comes back by itself */
    uint64_t since_ns;               /* it is stopped */
    int own_seccomp, own_n_filters;
    uint64_t saved_n;
    uint8_t saved[1024];
    uint64_t parameters; /* where they are; 0: not yet */
    uint64_t result;
    char text[512];
    bool has_told;
    bool is_blocked;  /* its signals are */
    bool is_given_up; /* a signal came before, and it is where it was */
    bool is_done;     /* but for its registers */
    bool is_back;     /* it did not wait for us, and has them */
};

/* ---- stopping ----------------------------------------------------------------------------------- */

static bool wait_until(const struct tracee *tracee, uint64_t until_ns, int *ret_status)
{
    pid_t got;

    while ((got = waitpid(tracee->tid, ret_status, __WALL | WNOHANG)) == 0
           && monotonic_now_ns() < until_ns)
        nap(20000);
    return got == tracee->tid;
}

static bool get_regs(struct tracee *tracee, struct user_regs_struct *ret)
{
    struct iovec io = {ret, sizeof(*ret)};

    return ptrace(PTRACE_GETREGSET, tracee->tid, NT_PRSTATUS, &io) == 0;
}

static bool set_regs(struct tracee *tracee, struct user_regs_struct *regs)
{
    struct iovec io = {regs, sizeof(*regs)};

    return ptrace(PTRACE_SETREGSET, tracee->tid, NT_PRSTATUS, &io) == 0;
}

/* These the kernel ends for a stop, too, though no handler of a signal runs. */
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

static void mend_end(struct user_regs_struct *regs)
{
    if ((long long)regs->rax == -EINTR && ends_for_a_stop((long long)regs->orig_rax))
        regs->rax = (unsigned long long)-RESTART_NO_HANDLER;
}

/* As if it had not been stopped: whether a handler of a signal is to run first the kernel knows best. */
static void mend_call(struct tracee *tracee)
{
    struct user_regs_struct regs;
    unsigned long long result;

    if (!get_regs(tracee, &regs))
        return;
    result = regs.rax;
    mend_end(&regs);
    if (regs.rax != result)
        (void)set_regs(tracee, &regs);
}

/* Where it runs, and cannot be stopped, it is left when this thread ends. */
static void let_go(struct tracee *tracee)
{
    int status;

    mend_call(tracee);
    if (ptrace(PTRACE_DETACH, tracee->tid, 0, 0) == 0 || errno != ESRCH
        || ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) != 0
        || !wait_until(tracee, monotonic_now_ns() + stop_ns, &status) || !WIFSTOPPED(status))
        return;
    mend_call(tracee);
    (void)ptrace(PTRACE_DETACH, tracee->tid, 0, status >> 16 ? 0 : WSTOPSIG(status) & 0x7f);
}

/* ---- may it be stopped? ------------------------------------------------------------------------- */

/* Of a thread: the number behind a word of its status, or -1; of State a letter. */
static int read_status(const struct tracee *tracee, const char *word)
{
    char path[64];
    char line[256];
    int found = -1;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)tracee->target->pid,
                   (int)tracee->tid);
    file = fopen(path, "re");
    while (file && found < 0 && fgets(line, sizeof(line), file)) {
        size_t n = strlen(word);
        if (strncmp(line, word, n) == 0 && line[n] == ':') {
            const char *value = line + n + 1 + strspn(line + n + 1, " \t");
            found = *value >= '0' && *value <= '9' ? (int)strtol(value, NULL, 10) : *value;
        }
    }
    if (file)
        fclose(file);
    return found;
}

/* It is ours if it could not be stopped before. */
static void refuse(const struct tracee *tracee, struct error *err)
{
    int tracer = read_status(tracee, "TracerPid");

    if (tracee->tid != tracee->target->pid)
        return; /* it is about to end, or the kernel's own */
    if (tracer > 0 && tracer != (int)getpid() && tracer != (int)gettid())
        error_set(err, ERROR_IO,
                  "process %d is traced by process %d (a debugger, strace): end that first",
                  (int)tracee->target->pid, tracer);
    else if (tracer == 0)
        error_set(err, ERROR_IO,
                  "process %d may not be traced: attach as root, or as the user it runs as (see "
                  "/proc/sys/kernel/yama/ptrace_scope)",
                  (int)tracee->target->pid);
}

/* False: it is gone, or does not stop, or was stopped by somebody's signal, and goes on. */
static bool stop(struct tracee *tracee, struct error *err)
{
    int status;

    if (read_status(tracee, "State") == 'D') /* until its child by vfork has gone, say */
        return false;
    if (ptrace(PTRACE_SEIZE, tracee->tid, 0, PTRACE_O_TRACESYSGOOD) != 0) {
        if (errno == EPERM)
            refuse(tracee, err);
        return false;
    }
    tracee->since_ns = monotonic_now_ns();
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0
        && wait_until(tracee, monotonic_now_ns() + stop_ns, &status) && WIFSTOPPED(status)) {
        if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
            return true;
        /* a signal came first: it gets it */
        (void)ptrace(PTRACE_DETACH, tracee->tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
        return false;
    }
    let_go(tracee);
    return false;
}

/* In a sequence that the kernel would abort if it knew where the thread goes. */
static bool is_in_rseq(const struct tracee *tracee)
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

static bool has_large_vectors(const struct tracee *tracee)
{
    static char state[2 * ENTRY_CODE_VECTOR_BYTES];
    struct iovec io = {state, sizeof(state)};

    return ptrace(PTRACE_GETREGSET, tracee->tid, NT_X86_XSTATE, &io) != 0
           || io.iov_len > ENTRY_CODE_VECTOR_BYTES;
}

/* ---- leading it there and back ------------------------------------------------------------------ */

/* As the kernel would have it go on: a system call that was interrupted is begun anew. */
static struct user_regs_struct resumed(const struct user_regs_struct *regs)
{
    struct user_regs_struct next = *regs;
    long long result;

    mend_end(&next);
    result = (long long)next.rax;
    if ((long long)regs->orig_rax >= 0 && result <= -RESTART_FIRST && result >= -RESTART_BLOCK
        && result != -(RESTART_BLOCK - 1)) {
        next.rax = result == -RESTART_BLOCK ? SYS_restart_syscall : regs->orig_rax;
        next.rip -= 2;
    }
    return next;
}

static bool write_memory(const struct tracee *tracee, uint64_t at, const void *bytes, size_t n)
{
    return pwrite(tracee->memory, bytes, n, (off_t)at) == (ssize_t)n;
}

static size_t code_bytes(void)
{
    return (size_t)(entry_code_end - entry_code_begin);
}

static bool put_code(struct tracee *tracee)
{
    size_t n = code_bytes();

    if (n > sizeof(tracee->saved)
        || pread(tracee->memory, tracee->saved, n, (off_t)tracee->target->once_code) != (ssize_t)n)
        return false;
    if (memcmp(tracee->saved, entry_code_begin, n) == 0)
        return true; /* a thread may be there still: it stays */
    if (memcmp(tracee->saved, tracee->target->once_bytes, n) != 0)
        return false;
    tracee->saved_n = n;
    return write_memory(tracee, tracee->target->once_code, entry_code_begin, n);
}

static void take_code(struct tracee *tracee)
{
    if (tracee->saved_n)
        (void)write_memory(tracee, tracee->target->once_code, tracee->saved, tracee->saved_n);
    tracee->saved_n = 0;
}

/* The last step is one: before it nothing has changed for the thread, after it it comes back by itself. */
static bool begin(struct tracee *tracee)
{
    struct user_regs_struct regs;

    tracee->is_blocked = tracee->is_given_up = false;
    tracee->stopped = tracee->regs;
    mend_end(&tracee->stopped);
    tracee->regs = resumed(&tracee->regs);
    regs = tracee->regs;
    regs.rsp -= ENTRY_CODE_FRAME_BYTES;
    regs.rip = tracee->target->once_code;
    regs.orig_rax = (unsigned long long)-1;
    return put_code(tracee)
           && write_memory(tracee, regs.rsp, &tracee->regs.rip, sizeof(tracee->regs.rip))
           && set_regs(tracee, &regs);
}

static uint64_t add_text(struct entry_code_parameters *parameters, size_t *used, const char *text,
                         uint64_t address)
{
    size_t n = strlen(text) + 1;
    uint64_t at = address + offsetof(struct entry_code_parameters, text) + *used;

    memcpy(parameters->text + *used, text, n);
    *used += n;
    return at;
}

static bool give_parameters(const struct tracee *tracee, const struct attaching_call *call,
                            uint64_t address)
{
    static struct entry_code_parameters parameters;
    const struct target *target = tracee->target;
    size_t used = 0;

    parameters = (struct entry_code_parameters){.is_ready = 1,
                                                .dlopen = target->dlopen,
                                                .dlsym = target->dlsym,
                                                .dlerror = target->dlerror,
                                                .errno_location = target->errno_location};
    parameters.library = add_text(&parameters, &used, call->library, address);
    parameters.function = add_text(&parameters, &used, call->function, address);
    parameters.argument = add_text(&parameters, &used, call->argument, address);
    return write_memory(tracee, address, &parameters, sizeof(parameters));
}

static void read_text(struct tracee *tracee, uint64_t at)
{
    ssize_t n = at ? pread(tracee->memory, tracee->text, sizeof(tracee->text) - 1, (off_t)at) : 0;

    tracee->text[n > 0 ? n : 0] = '\0';
    tracee->text[strcspn(tracee->text, "\n")] = '\0';
    printable_clean(tracee->text);
}

static bool is_after(const struct user_regs_struct *regs, long number)
{
    return (long long)regs->orig_rax == number && (long long)regs->rax != -ENOSYS;
}

static bool is_in_code(const struct tracee *tracee, const struct user_regs_struct *regs)
{
    return regs->rip >= tracee->target->once_code
           && regs->rip <= tracee->target->once_code + code_bytes();
}

static void hear(struct tracee *tracee, const struct attaching_call *call)
{
    struct user_regs_struct regs;

    if (!get_regs(tracee, &regs))
        return;
    tracee->is_blocked = tracee->is_blocked || is_after(&regs, SYS_rt_sigprocmask);
    if (regs.orig_rax == SYS_getpid && regs.rdi == ENTRY_CODE_ASKS
        && !is_after(&regs, SYS_getpid)) {
        if (give_parameters(tracee, call, regs.rsi))
            tracee->parameters = regs.rsi;
    } else if (tracee->has_told && is_in_code(tracee, &regs)
               && is_after(&regs, SYS_rt_sigprocmask)) {
        tracee->is_done = true;
    }
}

/* Its call shall see the signal: only the stack below the red zone has changed. */
static bool give_up(struct tracee *tracee, int number)
{
    if (!set_regs(tracee, &tracee->stopped))
        return false;
    take_code(tracee);
    tracee->is_given_up = true;
    return ptrace(PTRACE_DETACH, tracee->tid, 0, number) == 0;
}

/* Signals of the thread are blocked: what stops it nevertheless is a stop of the group, which it joins later. */
static bool run_until(struct tracee *tracee, const struct attaching_call *call, uint64_t until_ns,
                      bool is_until_end)
{
    int status;
    int number = 0;

    for (int i = 0; i < MOST_STOPS && !(is_until_end ? tracee->is_done : tracee->parameters != 0);
         i++) {
        if (ptrace(PTRACE_SYSCALL, tracee->tid, 0, number) != 0
            || !wait_until(tracee, until_ns, &status) || !WIFSTOPPED(status))
            return false;
        number = 0;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            hear(tracee, call);
        else if (status >> 16 == 0)
            number = WSTOPSIG(status);
        if (number && !tracee->is_blocked && give_up(tracee, number))
            return false;
    }
    return true;
}

static bool has_said(struct tracee *tracee)
{
    struct entry_code_parameters said;
    size_t n = offsetof(struct entry_code_parameters, text);

    if (pread(tracee->memory, &said, n, (off_t)tracee->parameters) != (ssize_t)n || !said.has_said)
        return false;
    tracee->result = said.result;
    read_text(tracee, said.error_text);
    tracee->has_told = true;
    return true;
}

/* A signal that comes before our stop is handed on. */
static bool interrupt(struct tracee *tracee, uint64_t until_ns)
{
    int status;

    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) != 0)
        return false;
    while (wait_until(tracee, until_ns, &status) && WIFSTOPPED(status)) {
        if (status >> 16)
            return true;
        if (ptrace(PTRACE_CONT, tracee->tid, 0, WSTOPSIG(status)) != 0)
            return false;
    }
    return false;
}

/* It is told that it was heard while it is stopped: it would return by itself, and has, where we were too slow. */
static bool end_wait(struct tracee *tracee, uint64_t until_ns)
{
    const uint64_t yes = 1;
    uint64_t at = tracee->parameters + offsetof(struct entry_code_parameters, is_heard);
    struct user_regs_struct regs;

    if (!interrupt(tracee, until_ns) || !get_regs(tracee, &regs))
        return false;
    tracee->is_back = !is_in_code(tracee, &regs);
    tracee->is_done = tracee->is_back;
    return tracee->is_back || write_memory(tracee, at, &yes, sizeof(yes));
}

/* Loading makes many system calls, at which it is not stopped. */
static bool run_call(struct tracee *tracee, uint64_t until_ns)
{
    int status;

    if (ptrace(PTRACE_CONT, tracee->tid, 0, 0) != 0)
        return false;
    while (!has_said(tracee)) {
        if (monotonic_now_ns() > until_ns)
            return false;
        if (wait_until(tracee, 0, &status)
            && (!WIFSTOPPED(status)
                || ptrace(PTRACE_CONT, tracee->tid, 0, status >> 16 ? 0 : WSTOPSIG(status)) != 0))
            return false;
        nap(50000);
    }
    return end_wait(tracee, until_ns);
}

static bool run(struct tracee *tracee, const struct attaching_call *call, uint64_t until_ns)
{
    return run_until(tracee, call, until_ns, false) && run_call(tracee, until_ns)
           && run_until(tracee, call, until_ns, true);
}

/*
 * Signals are no longer blocked. It gets what it had in the stop before the kernel looks for them, so that this decides as it would have then:
 * what a handler interrupts fails, or is begun anew, as the handler asks.
 */
static bool put_back(struct tracee *tracee, uint64_t until_ns)
{
    int status;

    if (tracee->is_back)
        return true;
    return ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0
           && ptrace(PTRACE_CONT, tracee->tid, 0, 0) == 0 && wait_until(tracee, until_ns, &status)
           && WIFSTOPPED(status) && set_regs(tracee, &tracee->stopped);
}

static int judge(const struct tracee *tracee, const struct attaching_call *call,
                 struct attaching_answer *ret_answer, struct error *err)
{
    int pid = (int)call->pid;

    if (tracee->result == ENTRY_CODE_NO_LIBRARY)
        return error_set(err, ERROR_IO, "process %d cannot load the collector: %s", pid,
                         tracee->text);
    if (tracee->result == ENTRY_CODE_NO_FUNCTION)
        return error_set(err, ERROR_IO, "process %d has loaded '%s', which is of another version",
                         pid, call->library);
    ret_answer->result = (int)tracee->result;
    return 0;
}

static int call_in(struct tracee *tracee, const struct attaching_call *call,
                   struct attaching_answer *ret_answer, struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + call_ns;

    if (!begin(tracee)) {
        take_code(tracee);
        let_go(tracee);
        return error_set(err, ERROR_IO, "process %d does not let its memory be written",
                         (int)call->pid);
    }
    if (run(tracee, call, until_ns) && put_back(tracee, until_ns + stop_ns))
        take_code(tracee);
    if (tracee->is_given_up)
        return 1;
    ret_answer->pause_ns = monotonic_now_ns() - tracee->since_ns;
    let_go(tracee);
    if (tracee->has_told)
        return judge(tracee, call, ret_answer, err);
    return error_set(err, ERROR_IO,
                     "process %d did not load the collector in time, or has ended: it goes on, and "
                     "may do so later",
                     (int)call->pid);
}

/* ---- which thread ------------------------------------------------------------------------------- */

/* The caller frees them. */
static size_t list_threads(pid_t pid, pid_t **ret_tids)
{
    char path[64];
    const struct dirent *entry;
    size_t n = 0;
    size_t n_room = 0;
    DIR *folder;

    *ret_tids = NULL;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        if (*entry->d_name < '0' || *entry->d_name > '9')
            continue;
        if (n == n_room) {
            n_room = n_room ? n_room * 2 : 64;
            pid_t *more = realloc(*ret_tids, n_room * sizeof(*more));
            if (!more)
                break;
            *ret_tids = more;
        }
        (*ret_tids)[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    if (folder)
        closedir(folder);
    return n;
}

/* Filters are a thread's own. How many there are is all that can be seen of them. */
static bool is_filtered(const struct tracee *tracee)
{
    int mode = read_status(tracee, "Seccomp");

    return mode > 0
           && (mode == 1 || tracee->own_seccomp != 2
               || read_status(tracee, "Seccomp_filters") != tracee->own_n_filters);
}

static bool is_ready(struct tracee *tracee, struct safe_place *place, const char **ret_why)
{
    *ret_why = "a thread behind a seccomp filter";
    if (is_filtered(tracee))
        return false;
    *ret_why = "a sequence that the kernel may restart";
    if (!get_regs(tracee, &tracee->regs) || is_in_rseq(tracee) || has_large_vectors(tracee))
        return false;
    return safe_place_is(place, tracee->tid, ret_why);
}

/* 1: none of the threads is at a safe place now. */
static int try_threads(struct tracee *tracee, struct safe_place *place,
                       const struct attaching_call *call, const char **ret_why,
                       struct attaching_answer *ret_answer, struct error *err)
{
    pid_t *tids;
    size_t n = list_threads(call->pid, &tids);
    int code = 1;

    for (size_t i = 0; i < n && code == 1; i++) {
        tracee->tid = tids[i];
        err->code = 0;
        if (!stop(tracee, err)) {
            code = err->code ? err->code : 1;
            continue;
        }
        if (is_ready(tracee, place, ret_why))
            code = call_in(tracee, call, ret_answer, err);
        else
            let_go(tracee);
    }
    free(tids);
    return n ? code : error_set(err, ERROR_NOT_FOUND, "there is no process %d", (int)call->pid);
}

static int search(struct tracee *tracee, const struct attaching_call *call,
                  struct attaching_answer *ret_answer, struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + search_ns;
    struct safe_place *place = safe_place_new(tracee->target, call->library);
    const char *why = "a call that does not end";
    int code;

    if (!place)
        return error_set(err, ERROR_IO, "process %d cannot be looked at", (int)call->pid);
    do {
        code = try_threads(tracee, place, call, &why, ret_answer, err);
        if (code == 1)
            nap(500000);
    } while (code == 1 && monotonic_now_ns() < until_ns);
    safe_place_free(place);
    if (code == 1)
        return error_set(
            err, ERROR_IO,
            "process %d was never where it can be interrupted safely, last in %s: try again",
            (int)call->pid, why);
    return code;
}

static bool is_thread_left(struct tracee *tracee, struct safe_place *place)
{
    struct error err;
    bool is_left = false;

    if (!stop(tracee, &err))
        return false;
    is_left = safe_place_is_outside(place, tracee->tid);
    let_go(tracee);
    return is_left;
}

/* AT-4; the lock is that of the open file, and ends with it. */
static bool is_alone(int memory)
{
    uint64_t until_ns = monotonic_now_ns() + call_ns;
    int result;

    while ((result = flock(memory, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK
           && monotonic_now_ns() < until_ns)
        nap(20000000);
    return result == 0;
}

/* Threads that began meanwhile never were there. */
static bool look_whether_left(pid_t pid, const char *library)
{
    struct target target;
    struct tracee tracee = {.target = &target, .memory = -1};
    struct safe_place *place = NULL;
    pid_t *tids = NULL;
    size_t n = 0;
    bool is_left;
    char path[64];
    struct error err;

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    tracee.memory = open(path, O_RDWR | O_CLOEXEC);
    if (tracee.memory < 0)
        return false;
    if (!is_alone(tracee.memory) || target_look(pid, library, &target, &err) != 0) {
        close(tracee.memory);
        return false;
    }
    n = list_threads(pid, &tids);
    is_left = n > 0;
    place = is_left ? safe_place_new(&target, library) : NULL;
    for (size_t i = 0; i < n && is_left && place; i++) {
        tracee.tid = tids[i];
        is_left = is_thread_left(&tracee, place);
    }
    is_left = is_left && place;
    close(tracee.memory);
    free(tids);
    safe_place_free(place);
    target_done(&target);
    return is_left;
}

static int look_and_call(const struct attaching_call *call, struct attaching_answer *ret_answer,
                         struct error *err)
{
    struct target target;
    const struct target own = {.pid = getpid()};
    const struct tracee we = {.target = &own, .tid = gettid()};
    struct tracee tracee = {.target = &target,
                            .own_seccomp = read_status(&we, "Seccomp"),
                            .own_n_filters = read_status(&we, "Seccomp_filters")};
    char path[64];
    int code;

    *ret_answer = (struct attaching_answer){.result = 0};
    if (strlen(call->library) + strlen(call->function) + strlen(call->argument) + 3
        > ENTRY_CODE_TEXT_BYTES)
        return error_set(err, ERROR_USAGE, "the settings of the collector are too long");
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)call->pid);
    tracee.memory = open(path, O_RDWR | O_CLOEXEC);
    if (tracee.memory >= 0 && !is_alone(tracee.memory)) {
        close(tracee.memory);
        return error_set(err, ERROR_IO,
                         "process %d is being attached to, or left, by another mtrace-record",
                         (int)call->pid);
    }
    code = target_look(call->pid, call->library, &target, err);
    if (code == 0 && tracee.memory < 0)
        code = error_set_errno(err, errno, "cannot open '%s'", path);
    if (code == 0) {
        code = search(&tracee, call, ret_answer, err);
        target_done(&target);
    }
    if (tracee.memory >= 0)
        close(tracee.memory);
    return code;
}

/* ---- a thread for it ---------------------------------------------------------------------------- */

struct job {
    const struct attaching_call *call;
    struct attaching_answer *answer; /* NULL: whether the library is left */
    struct error *err;
    int code;
};

static void *do_job(void *context)
{
    struct job *job = context;

    job->code = job->answer ? look_and_call(job->call, job->answer, job->err)
                            : look_whether_left(job->call->pid, job->call->library);
    return NULL;
}

/* AT-3: the kernel lets go what a thread traces when it ends. */
static bool do_in_thread(struct job *job)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, do_job, job) == 0 && pthread_join(thread, NULL) == 0;
}

bool attaching_is_left(pid_t pid, const char *library)
{
    const struct attaching_call call = {.pid = pid, .library = library};
    struct job job = {.call = &call};

    return do_in_thread(&job) && job.code;
}

int attaching_run(const struct attaching_call *call, struct attaching_answer *ret_answer,
                  struct error *err)
{
    struct job job = {.call = call, .answer = ret_answer, .err = err};

    *ret_answer = (struct attaching_answer){.result = 0};
    return do_in_thread(&job) ? job.code : error_set(err, ERROR_NOMEM, "cannot start a thread");
}

#else

/* How a thread is led elsewhere and back is not written for this processor. */
int attaching_run(const struct attaching_call *call, struct attaching_answer *ret_answer,
                  struct error *err)
{
    (void)ret_answer;
    return error_set(
        err, ERROR_USAGE,
        "process %d cannot be attached to on this processor: start it under mtrace-record",
        (int)call->pid);
}

bool attaching_is_left(pid_t pid, const char *library)
{
    (void)pid, (void)library;
    return false;
}

#endif
