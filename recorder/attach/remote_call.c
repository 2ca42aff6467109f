/* SPDX-License-Identifier: MIT */
#include "recorder/attach/remote_call.h"

#if defined(__x86_64__)

#    include "lib/base/fault_point.h"
#    include "lib/base/monotonic.h"
#    include "lib/base/utf8.h"
#    include "recorder/attach/call_stub.h"

#    include <errno.h>
#    include <signal.h>
#    include <stddef.h>
#    include <string.h>
#    include <sys/ptrace.h>
#    include <sys/syscall.h>
#    include <sys/wait.h>
#    include <unistd.h>

/* Since Linux 3.11. */
static const enum __ptrace_request get_signal_mask = (enum __ptrace_request)0x420a;
static const enum __ptrace_request set_signal_mask = (enum __ptrace_request)0x420b;

enum {
    /* The kernel's codes for a system call that it will restart. */
    RESTART_FIRST = 512,
    RESTART_BLOCK = 516,
};

/* The registers with which the kernel would continue: an interrupted system call is restarted. */
static struct user_regs_struct resumed(const struct user_regs_struct *regs)
{
    struct user_regs_struct next = *regs;
    long long result;

    tracee_make_restartable(&next);
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
    return (size_t)(call_stub_end - call_stub_begin);
}

static bool put_code(struct tracee *tracee)
{
    size_t n = code_bytes();

    if (n > sizeof(tracee->saved)
        || pread(tracee->memory, tracee->saved, n, (off_t)tracee->target->scratch_address)
               != (ssize_t)n)
        return false;
    if (memcmp(tracee->saved, call_stub_begin, n) == 0)
        return true; /* a thread may still be in it, so it stays */
    if (memcmp(tracee->saved, tracee->target->scratch_code.bytes, n) != 0)
        return false;
    tracee->saved_n = n;
    return write_memory(tracee, tracee->target->scratch_address, call_stub_begin, n);
}

static void take_code(struct tracee *tracee)
{
    if (tracee->saved_n)
        (void)write_memory(tracee, tracee->target->scratch_address, tracee->saved, tracee->saved_n);
    tracee->saved_n = 0;
}

/* Each byte is ours or ld.so's: a recorder may have been killed while it wrote or restored the
 * code. */
static bool is_mixed(const uint8_t *found, const uint8_t *scratch_code, size_t n)
{
    bool is_mixed = true;

    for (size_t i = 0; i < n && is_mixed; i++)
        is_mixed = found[i] == scratch_code[i] || found[i] == call_stub_begin[i];
    return is_mixed;
}

bool remote_call_has_remains(const struct tracee *tracee)
{
    const struct target *target = tracee->target;
    uint8_t found[SCRATCH_CODE_BYTES];
    size_t n = code_bytes();

    return n <= sizeof(found)
           && pread(tracee->memory, found, n, (off_t)target->scratch_address) == (ssize_t)n
           && memcmp(found, target->scratch_code.bytes, n) != 0
           && is_mixed(found, target->scratch_code.bytes, n);
}

static bool is_code(const struct target *target, uint64_t address)
{
    return address >= target->scratch_address && address <= target->scratch_address + code_bytes();
}

/* A function called by the code returns to it through the word at the top of its mapped stack, and
 * the parameters are at the beginning of that memory. */
static bool is_top(const struct tracee *tracee, uint64_t at)
{
    uint64_t word;

    return pread(tracee->memory, &word, sizeof(word), (off_t)at) == (ssize_t)sizeof(word)
           && is_code(tracee->target, word)
           && pread(tracee->memory, &word, sizeof(word),
                    (off_t)(at + sizeof(word) - CALL_STUB_MAPPED_BYTES))
                  == (ssize_t)sizeof(word)
           && word == 1;
}

/* In our code a thread may be on another stack, because called functions may switch to one.
 * Then all signals are blocked, which programs cannot do through libc, and libc does only for
 * moments. */
static bool blocks_all(const struct tracee *tracee)
{
    const uint64_t never = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
    uint64_t signals;

    return ptrace(get_signal_mask, tracee->tid, sizeof(signals), &signals) != 0
           || (signals | never) == UINT64_MAX;
}

/* io_uring workers are made by the kernel: they share the process's memory but execute no user
 * code, and block all signals permanently. */
static bool has_no_code(const struct tracee *tracee)
{
    return tracee->regs.rip == 0 && tracee->regs.rsp == 0;
}

bool remote_call_is_outside(const struct tracee *tracee)
{
    const uint64_t page = 4096;
    uint64_t top = (tracee->regs.rsp | (page - 1)) + 1;
    bool is_inside =
        !has_no_code(tracee) && (is_code(tracee->target, tracee->regs.rip) || blocks_all(tracee));

    for (uint64_t i = 0; i < CALL_STUB_MAPPED_BYTES / page && !is_inside; i++)
        is_inside = is_top(tracee, top + i * page - sizeof(uint64_t));
    return !is_inside;
}

void remote_call_clear_remains(const struct tracee *tracee)
{
    (void)write_memory(tracee, tracee->target->scratch_address, tracee->target->scratch_code.bytes,
                       code_bytes());
}

static bool clear_state(const struct tracee *tracee)
{
    const uint64_t no_state = 0;

    return write_memory(tracee, tracee->frame + offsetof(struct call_stub_frame, state), &no_state,
                        sizeof(no_state));
}

/* The last step takes effect atomically: before it nothing has changed for the thread, after it the
 * thread returns by itself. */
static bool begin(struct tracee *tracee)
{
    struct user_regs_struct regs;

    tracee->is_blocked = tracee->is_given_up = false;
    if (ptrace(get_signal_mask, tracee->tid, sizeof(tracee->signals), &tracee->signals) != 0)
        return false;
    tracee->stopped = tracee->regs;
    tracee_make_restartable(&tracee->stopped);
    tracee->regs = resumed(&tracee->regs);
    regs = tracee->regs;
    regs.rsp -= CALL_STUB_PUSHED_BYTES;
    regs.rip = tracee->target->scratch_address;
    regs.orig_rax = (unsigned long long)-1;
    tracee->frame = regs.rsp - CALL_STUB_FRAME_AT;
    (void)clear_state(tracee); /* if the stack has no page yet, there is nothing to clear */
    return put_code(tracee)
           && write_memory(tracee, regs.rsp, &tracee->regs.rip, sizeof(tracee->regs.rip))
           && tracee_set_regs(tracee, &regs);
}

static uint64_t add_text(struct call_stub_parameters *parameters, size_t *used, const char *text,
                         uint64_t address)
{
    size_t n = strlen(text) + 1;
    uint64_t at = address + offsetof(struct call_stub_parameters, text) + *used;

    memcpy(parameters->text + *used, text, n);
    *used += n;
    return at;
}

static bool give_parameters(const struct tracee *tracee, const struct attaching_call *call,
                            uint64_t address)
{
    static struct call_stub_parameters parameters;
    const struct target *target = tracee->target;
    size_t used = 0;

    parameters = (struct call_stub_parameters){.is_ready = 1,
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
    utf8_clean(tracee->text);
}

/* The thread is in the code before its signals are blocked, or after: only the stack below the red
 * zone has changed. */
static bool may_give_up(struct tracee *tracee)
{
    struct user_regs_struct regs;
    uint64_t signals;

    return tracee_get_regs(tracee, &regs) && is_code(tracee->target, regs.rip)
           && ptrace(get_signal_mask, tracee->tid, sizeof(signals), &signals) == 0
           && signals == tracee->signals;
}

/* The interrupted call must see the signal. */
static bool give_up(struct tracee *tracee, int number)
{
    if (!tracee_set_regs(tracee, &tracee->stopped))
        return false;
    take_code(tracee);
    tracee->is_given_up = true;
    return ptrace(PTRACE_DETACH, tracee->tid, 0, number) == 0;
}

static bool read_frame(const struct tracee *tracee, struct call_stub_frame *ret_frame)
{
    return pread(tracee->memory, ret_frame, sizeof(*ret_frame), (off_t)tracee->frame)
           == (ssize_t)sizeof(*ret_frame);
}

/* Continues the thread. It gets a signal only if that is caused by its own action, or if it has
 * returned already. SIGSTOP, which cannot be blocked and has no handler, is delivered with the
 * others on release. */
static bool pass_on(struct tracee *tracee, int status)
{
    int number = WIFSTOPPED(status) && status >> 16 == 0 ? WSTOPSIG(status) : 0;

    if (!WIFSTOPPED(status)
        || (number && number != SIGSTOP && !tracee->is_blocked && may_give_up(tracee)
            && give_up(tracee, number)))
        return false;
    return ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
}

/* Waits until the frame of the running thread requests parameters or has a result. The thread is
 * not stopped at the many system calls of loading. */
static bool wait_for(struct tracee *tracee, uint64_t state, uint64_t until_ns,
                     struct call_stub_frame *ret_frame)
{
    const uint64_t began_ns = monotonic_now_ns();
    int status;

    while (!read_frame(tracee, ret_frame)
           || (ret_frame->state != state && ret_frame->state != CALL_STUB_HAS_RESULT)) {
        if (monotonic_now_ns() > until_ns
            || (tracee_wait_until(tracee, 0, &status) && !pass_on(tracee, status)))
            return false;
        tracee_nap_since(began_ns);
    }
    tracee->is_blocked = true;
    return true;
}

/* A signal that arrives before our stop is forwarded. */
static bool interrupt(struct tracee *tracee, uint64_t until_ns)
{
    int status;

    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) != 0)
        return false;
    while (tracee_wait_until(tracee, until_ns, &status) && WIFSTOPPED(status)) {
        if (status >> 16)
            return true;
        if (ptrace(PTRACE_CONT, tracee->tid, 0, WSTOPSIG(status)) != 0)
            return false;
    }
    return false;
}

/* Writes the parameters while the thread is stopped and still waits (EC-3); if we are late, it has
 * returned. Ends its pause. */
static bool answer(struct tracee *tracee, const struct attaching_call *call, uint64_t until_ns)
{
    struct call_stub_frame frame;
    struct user_regs_struct regs;

    if (!interrupt(tracee, until_ns) || !tracee_get_regs(tracee, &regs)
        || !read_frame(tracee, &frame) || frame.state != CALL_STUB_WANTS_PARAMETERS
        || !give_parameters(tracee, call, frame.parameters))
        return false;
    fault_point("asked");
    regs.orig_rax = (unsigned long long)-1;
    return tracee_set_regs(tracee, &regs) && ptrace(PTRACE_CONT, tracee->tid, 0, 0) == 0;
}

static bool run(struct tracee *tracee, const struct attaching_call *call, uint64_t until_ns)
{
    struct call_stub_frame frame;

    if (ptrace(PTRACE_CONT, tracee->tid, 0, 0) != 0
        || !wait_for(tracee, CALL_STUB_WANTS_PARAMETERS, until_ns, &frame)
        || (frame.state == CALL_STUB_WANTS_PARAMETERS && !answer(tracee, call, until_ns)))
        return false;
    fault_point("loading");
    if (!wait_for(tracee, CALL_STUB_HAS_RESULT, until_ns, &frame))
        return false;
    tracee->result = frame.result;
    read_text(tracee, frame.error_text);
    tracee->has_reported = true;
    return true;
}

/* The thread waits for us, or has returned if we were late. Its signals are blocked. It gets its
 * original registers in this stop, before the kernel looks for signals, so the kernel decides as it
 * would have then: an interrupted call fails or is restarted, as the handler requires. At each step
 * it could return by itself. */
static bool put_back(struct tracee *tracee, uint64_t until_ns)
{
    struct call_stub_frame frame;
    struct user_regs_struct regs;

    if (!interrupt(tracee, until_ns) || !tracee_get_regs(tracee, &regs))
        return false;
    fault_point("heard");
    tracee->is_back = !is_code(tracee->target, regs.rip);
    return tracee->is_back
           || (read_frame(tracee, &frame)
               && ptrace(set_signal_mask, tracee->tid, sizeof(frame.signals), &frame.signals) == 0
               && clear_state(tracee) && tracee_set_regs(tracee, &tracee->stopped));
}

/* A hint for an error of dlopen, if there is one. */
static const char *hint_of(const char *text)
{
    return strstr(text, "static TLS")
               ? "; its libraries use up glibc's reserve for thread-local storage: start it with "
                 "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=2048"
               : "";
}

static int judge(const struct tracee *tracee, const struct attaching_call *call,
                 struct remote_call_result *ret_answer, struct error *err)
{
    int pid = (int)call->pid;

    if (tracee->result == CALL_STUB_NO_LIBRARY)
        return error_set(err, ERROR_IO, "process %d cannot load the collector: %s%s", pid,
                         tracee->text, hint_of(tracee->text));
    if (tracee->result == CALL_STUB_NO_FUNCTION)
        return error_set(err, ERROR_IO, "process %d has loaded '%s', which is of another version",
                         pid, call->library);
    if (tracee->result == CALL_STUB_NO_MEMORY)
        return error_set(err, ERROR_IO,
                         "process %d cannot map %d KiB, which the call needs: its limits (ulimit "
                         "-v) must allow it",
                         pid, CALL_STUB_MAPPED_BYTES / 1024);
    ret_answer->result = (int)tracee->result;
    return 0;
}

int remote_call_run(struct tracee *tracee, const struct attaching_call *call,
                    struct remote_call_result *ret_answer, struct error *err)
{
    uint64_t until_ns = monotonic_now_ns() + REMOTE_CALL_CALL_NS;

    if (!begin(tracee)) {
        take_code(tracee);
        tracee_let_go(tracee);
        return error_set(err, ERROR_IO, "the memory of process %d cannot be written",
                         (int)call->pid);
    }
    fault_point("led");
    if (run(tracee, call, until_ns) && put_back(tracee, until_ns + TRACEE_STOP_NS)) {
        fault_point("back");
        take_code(tracee);
    }
    if (tracee->is_given_up)
        return 1;
    ret_answer->pause_ns = monotonic_now_ns() - tracee->since_ns;
    tracee_let_go(tracee);
    if (tracee->has_reported)
        return judge(tracee, call, ret_answer, err);
    return error_set(err, ERROR_IO,
                     "process %d has ended, or did not load the collector in time: it continues, "
                     "and may still load it",
                     (int)call->pid);
}

#endif
