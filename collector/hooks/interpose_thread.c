/* SPDX-License-Identifier: MIT */
/*
 * interpose_thread: creation and names of threads, and restrictions that a thread puts on itself
 * (TSC, system calls, its root directory).
 */
#include "collector/events/thread_start.h"
#include "collector/groups/scopes.h"
#include "collector/hooks/interpose_process.h"
#include "collector/hooks/reference_names.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "collector/unwind/unwind_cfi.h"
#include "lib/abi/attr.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

/* ---- creation -------------------------------------------------------------------------------- */

enum {
    GUARD_BYTES = 8192, /* guard page, and data above the thread pointer */
};

/* glibc puts the thread pointer at the top of the stack. */
static struct start begin_thread(struct start *start)
{
    struct start copy = {.routine = start->routine, .argument = start->argument};
    uintptr_t high = thread_self();

    if (start->stack_bytes > GUARD_BYTES)
        thread_set_stack(high - start->stack_bytes + GUARD_BYTES, high);
    scopes_begin(start->group);
    thread_start_give_back(start);
    return copy;
}

/* The last call becomes a jump, so that no frame of ours is outside the program's routine. */
static void *begin_posix(void *cookie)
{
    struct start start = begin_thread(cookie);

    if (ARCH_HAS_EXIDX)
        unwind_cfi_set_bottom(0, ARCH_RETURN_ADDRESS());
    return start.routine.posix(start.argument);
}

static int begin_c11(void *cookie)
{
    struct start start = begin_thread(cookie);

    if (ARCH_HAS_EXIDX)
        unwind_cfi_set_bottom(1, ARCH_RETURN_ADDRESS());
    return start.routine.c11(start.argument);
}

/* Also before recording has begun: it may be switched on later. NULL: no record is needed. A fork
 * child begins its log while it has one thread: events of a thread that runs while another one
 * begins the log are in no log. */
static struct start *prepare_start(const pthread_attr_t *attributes, void *argument)
{
    struct start *start;

    (void)state_is_recording();
    start = state_is_off() ? NULL : thread_start_take();
    if (start) {
        start->argument = argument;
        start->stack_bytes = thread_stack_bytes(attributes);
        start->group = scopes_group_to_inherit();
    }
    return start;
}

MTRACE_EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
                                 void *(*routine)(void *), void *argument)
{
    struct start *start;
    int error;

    if (!lifecycle_is_ready() || !g_real.pthread_create)
        return EAGAIN;
    start = prepare_start(attributes, argument);
    if (!start)
        return g_real.pthread_create(ret_thread, attributes, routine, argument);
    start->routine.posix = routine;
    error = g_real.pthread_create(ret_thread, attributes, begin_posix, start);
    if (error != 0)
        thread_start_give_back(start);
    return error;
}

MTRACE_EXPORT int thrd_create(thrd_t *ret_thread, thrd_start_t routine, void *argument)
{
    struct start *start;
    int result;

    if (!lifecycle_is_ready() || !g_real.thrd_create)
        return thrd_error;
    start = prepare_start(NULL, argument);
    if (!start)
        return g_real.thrd_create(ret_thread, routine, argument);
    start->routine.c11 = routine;
    result = g_real.thrd_create(ret_thread, begin_c11, start);
    if (result != thrd_success)
        thread_start_give_back(start);
    return result;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void define_name(const struct thread *of, const char *name)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return;
    thread_define_name(of, name);
    signals_block_end(&quiet);
}

MTRACE_EXPORT int pthread_setname_np(pthread_t target, const char *name)
{
    int error;

    if (!lifecycle_is_ready() || !g_real.pthread_setname_np)
        return ENOSYS;
    error = g_real.pthread_setname_np(target, name);
    if (error == 0)
        define_name(thread_of((uintptr_t)target), name);
    return error;
}

/* ---- restrictions ---------------------------------------------------------------------------- */

enum {
    SEGMENTS_AHEAD = 64, /* 4 MiB: no segment can be made later */
};

/* While segments can still be made. */
static void reserve_ahead(void)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return;
    segment_reserve_ahead(SEGMENTS_AHEAD);
    signals_block_end(&quiet);
}

/* Also before recording has begun: it may be switched on later. */
static void before_seccomp(bool is_strict)
{
    reserve_ahead();
    if (is_strict)
        clock_forbid_all();
    sys_forbid();
}

static void seccomp_failed(void)
{
    sys_allow();
    clock_allow();
}

/* What a call forbids the thread; the call has two names. */
struct ban {
    bool is_seccomp;
    bool is_strict; /* only read, write and exit are allowed; no TSC */
    bool is_tsc;
};

static struct ban ban_by_prctl(long option, long first)
{
    return (struct ban){
        .is_seccomp = option == PR_SET_SECCOMP,
        .is_strict = option == PR_SET_SECCOMP && first == SECCOMP_MODE_STRICT,
        .is_tsc = option == PR_SET_TSC && first == PR_TSC_SIGSEGV,
    };
}

static struct ban ban_by_syscall(long number, const long *a)
{
    if (number == SYS_prctl)
        return ban_by_prctl(a[0], a[1]);
    return (struct ban){
        .is_seccomp = number == SYS_seccomp
                      && (a[0] == SECCOMP_SET_MODE_STRICT || a[0] == SECCOMP_SET_MODE_FILTER),
        .is_strict = number == SYS_seccomp && a[0] == SECCOMP_SET_MODE_STRICT,
    };
}

static void ban_begins(const struct ban *ban)
{
    if (ban->is_seccomp)
        before_seccomp(ban->is_strict);
    if (ban->is_tsc)
        clock_forbid_tsc();
}

static void ban_ended(const struct ban *ban, long result)
{
    if (ban->is_seccomp && result < 0)
        seccomp_failed();
}

COMMON_NAME(prctl) int mtrace_wrap_prctl(int option, ...)
{
    unsigned long a[4];
    va_list arguments;
    struct ban ban;
    int result;

    va_start(arguments, option);
    for (unsigned i = 0; i < 4; i++)
        /* It is begun above. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        a[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (!lifecycle_is_ready() || !g_real.prctl) {
        errno = ENOSYS;
        return -1;
    }
    ban = ban_by_prctl(option, (long)a[0]);
    ban_begins(&ban);
    result = g_real.prctl(option, a[0], a[1], a[2], a[3]);
    ban_ended(&ban, result);
    if (option == PR_SET_NAME && result == 0)
        define_name(&g_thread, NULL);
    return result;
}

/* Such a call makes a child with its own memory that continues at the caller. */
static bool is_fork(long number, const long *a)
{
    uint64_t flags = (uint64_t)a[0];

    if (number == SYS_clone3
        && sys_copy_own(&flags, (uintptr_t)a[0], sizeof(flags)) != (long)sizeof(flags))
        return false;
    return number == ARCH_SYSTEM_CALL_FORK
           || ((number == SYS_clone || number == SYS_clone3) && !(flags & CLONE_VM));
}

#ifdef __x86_64__

/* Jumps to libc's function, except for calls that the collector must notice. A thread that waits in
 * syscall(), as Rust's do, is thus outside the collector, where a detach finds a safe point. In
 * assembly: a call from C would copy arguments and leave a frame. */
COMMON_NAME(syscall) __attribute__((naked)) void mtrace_wrap_syscall(void)
{
    __asm__("cmp %0, %%rdi; je 1f; cmp %1, %%rdi; je 1f; cmp %2, %%rdi; je 1f;"
            "cmp %3, %%rdi; je 1f; cmp %4, %%rdi; je 1f;"
            "mov %5, %%rax; test %%rax, %%rax; je 1f; jmp *%%rax;"
            "1: xor %%eax, %%eax; jmp noticed_syscall"
            :
            : "i"(SYS_prctl), "i"(SYS_seccomp), "i"(SYS_clone), "i"(SYS_clone3),
              "i"(ARCH_SYSTEM_CALL_FORK), "m"(g_real.syscall));
}

#    define NOTICED_SYSCALL static __attribute__((used))
#else
#    define NOTICED_SYSCALL COMMON_NAME(syscall)
#    define noticed_syscall mtrace_wrap_syscall
#endif

NOTICED_SYSCALL long noticed_syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    struct ban ban;
    bool is_forking;
    bool is_nested;
    long result;

    va_start(arguments, number);
    for (unsigned i = 0; i < 6; i++)
        /* It is begun above. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (!lifecycle_is_ready() || !g_real.syscall) {
        errno = ENOSYS;
        return -1;
    }
    ban = ban_by_syscall(number, a);
    ban_begins(&ban);
    is_forking = is_fork(number, a);
    is_nested = is_forking && interpose_process_fork_begins();
    result = g_real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (is_forking)
        interpose_process_fork_ended(result == 0, is_nested);
    ban_ended(&ban, result);
    return result;
}

/* After it, the log's path is invalid: grow before. */
COMMON_NAME(chroot) int mtrace_wrap_chroot(const char *path)
{
    if (!lifecycle_is_ready() || !g_real.chroot) {
        errno = ENOSYS;
        return -1;
    }
    reserve_ahead();
    return g_real.chroot(path);
}
