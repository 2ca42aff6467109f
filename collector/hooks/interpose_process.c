/* SPDX-License-Identifier: MIT */
/*
 * interpose_process: how processes begin and end: fork and related calls, exec*, posix_spawn*,
 * _exit, quick_exit, abort.
 *
 * exit() is not wrapped: a handler registered before main sees its status, and that of a return
 * from main, too (lifecycle.c). vfork cannot be wrapped, because it returns twice into its caller's
 * frame. Its child is recognized when it execs: its PID is not the log's.
 */
#include "collector/hooks/interpose_process.h"

#include "collector/events/mapped_memory.h"
#include "collector/events/record.h"
#include "collector/hooks/reference_names.h"
#include "collector/log/modules.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/control_commands.h"
#include "collector/process/describe.h"
#include "collector/process/end.h"
#include "collector/process/environment.h"
#include "collector/process/exec_target.h"
#include "collector/process/got_rebinding.h"
#include "collector/process/lifecycle.h"
#include "collector/process/self_report.h"
#include "collector/sampling/sampler.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "lib/abi/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

bool interpose_process_fork_begins(void)
{
    control_commands_handle_early();
    sampler_fork_begins();
    return state_is_recording() && thread_fork_begins();
}

void interpose_process_fork_ended(bool is_child, bool is_nested)
{
    if (is_child && !state_is_own_process()) {
        got_rebinding_forget();
        modules_forget_unloads();
    }
    sampler_fork_ended(is_child);
    if (is_nested)
        thread_fork_ended(is_child);
}

static bool is_following(void)
{
    return state_is_recording() && state_config()->follows_children;
}

/* ---- children -------------------------------------------------------------------------------- */

/* For the recorder, which reports children that were not recorded. */
static void count_child(int n)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return;
    atomic_fetch_add_explicit(&segment_log()->n_children, (uint32_t)n, memory_order_relaxed);
    signals_block_end(&quiet);
}

static void record_child(pid_t pid, const struct unwind_origin *origin)
{
    uint64_t words[3] = {0, 0, (uint64_t)pid};

    if (!state_is_recording())
        return;
    count_child(1);
    record_event(LOG_FORK, 0, words, 3, origin);
    if (is_following())
        describe_child((uint32_t)pid, LOG_CHILD_BEGINS);
}

/* The child's own events are lost until its handler returns; its log, if there is one, counts
 * them. */
static void report_stranded(void)
{
    static _Atomic bool is_reported;

    if (is_following() && !atomic_exchange_explicit(&is_reported, true, memory_order_relaxed))
        signals_block_message(
            CONFIG_LEVEL_WARN,
            "a signal handler forked while it had interrupted a recording: such a child is "
            "recorded only after its handler has returned");
}

static pid_t forked(pid_t pid, bool is_nested, const struct unwind_origin *origin)
{
    interpose_process_fork_ended(pid == 0, is_nested);
    if (is_nested && pid > 0)
        report_stranded();
    if (pid > 0)
        record_child(pid, origin);
    return pid;
}

MTRACE_EXPORT pid_t fork(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool is_nested;

    if (!lifecycle_is_ready() || !g_real.fork) {
        errno = ENOSYS;
        return -1;
    }
    is_nested = interpose_process_fork_begins();
    return forked(g_real.fork(), is_nested, &origin);
}

pid_t _Fork(void); /* not declared before glibc 2.34; NOLINT(readability-redundant-declaration) */

MTRACE_EXPORT pid_t _Fork(void)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool is_nested;

    if (!lifecycle_is_ready() || !g_real._Fork) {
        errno = ENOSYS;
        return -1;
    }
    is_nested = interpose_process_fork_begins();
    return forked(g_real._Fork(), is_nested, &origin);
}

/* libc forks inside this function. */
MTRACE_EXPORT int forkpty(int *ret_master, char *ret_name, const struct termios *terminal,
                          const struct winsize *size)
{
    const struct unwind_origin origin = RECORD_ORIGIN();
    bool is_nested;

    if (!lifecycle_is_ready() || !g_real.forkpty) {
        errno = ENOSYS;
        return -1;
    }
    is_nested = interpose_process_fork_begins();
    return forked(g_real.forkpty(ret_master, ret_name, terminal, size), is_nested, &origin);
}

/*
 * This process ends inside the real function, where no wrapper sees it; the child continues and
 * returns. No record here names the child, but its log names its parent.
 */
COMMON_NAME(daemon) int mtrace_wrap_daemon(int keeps_directory, int keeps_descriptors)
{
    const long pid = sys_getpid();
    bool is_nested;
    int result;

    if (!lifecycle_is_ready() || !g_real.daemon) {
        errno = ENOSYS;
        return -1;
    }
    control_commands_handle_early(); /* handle control commands before the process ends */
    mapped_memory_record_heaps();
    end_write(LOG_END_IMMEDIATE, 0);
    count_child(1);
    is_nested = interpose_process_fork_begins();
    result = g_real.daemon(keeps_directory, keeps_descriptors);
    interpose_process_fork_ended(!state_is_own_process(), is_nested);
    if (sys_getpid() == pid && state_is_recording()) /* it failed, before it forked */
        count_child(-1);
    end_take_back();
    return result;
}

/* The path names a descriptor of the child, which the file actions may open. */
static bool is_opened_by_actions(const char *path, const posix_spawn_file_actions_t *actions)
{
    static const char *const folders[] = {"/dev/fd/", "/dev/std", "/proc/self/fd/",
                                          "/proc/thread-self/fd/"};
    static _Atomic bool is_reported;
    bool is_found = false;

    if (!actions || !path || !sys_string_is_readable(path))
        return false;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        is_found |= fmt_after_prefix(path, folders[i]) != NULL;
    if (is_found && !atomic_exchange_explicit(&is_reported, true, memory_order_relaxed))
        signals_block_message(CONFIG_LEVEL_WARN,
                              "a child of posix_spawn is not recorded: its program is a "
                              "descriptor that file actions may open; spawn it by its path");
    return is_found;
}

static char *const *environment_for_spawn(char *const *environment, const char *path,
                                          const posix_spawn_file_actions_t *actions,
                                          bool is_searched)
{
    if (!is_following())
        return environment_once_left(environment);
    return environment_for_exec(environment, is_opened_by_actions(path, actions)
                                                 ? NULL
                                                 : exec_target_library(path, is_searched));
}

typedef int spawn_function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                           const posix_spawnattr_t *, char *const[], char *const[]);

/* The arguments of posix_spawn, and its caller. NOLINTNEXTLINE(readability-function-size) */
static int spawn(spawn_function *real, pid_t *ret_pid, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const arguments[], char *const environment[],
                 const struct unwind_origin *origin)
{
    char *const *passed;
    pid_t pid = 0;
    int error;

    control_commands_handle_early();
    passed = environment_for_spawn(environment, path, actions, real == g_real.posix_spawnp);
    error = real(&pid, path, actions, attributes, arguments, passed);
    if (error == E2BIG && passed != environment) /* because of what we added */
        error = real(&pid, path, actions, attributes, arguments, environment);
    if (error != 0)
        return error;
    if (ret_pid)
        *ret_pid = pid;
    record_child(pid, origin);
    return 0;
}

MTRACE_EXPORT int posix_spawn(pid_t *ret_pid, const char *path,
                              const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const arguments[],
                              char *const environment[])
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!lifecycle_is_ready() || !g_real.posix_spawn)
        return ENOSYS;
    return spawn(g_real.posix_spawn, ret_pid, path, actions, attributes, arguments, environment,
                 &origin);
}

MTRACE_EXPORT int posix_spawnp(pid_t *ret_pid, const char *file,
                               const posix_spawn_file_actions_t *actions,
                               const posix_spawnattr_t *attributes, char *const arguments[],
                               char *const environment[])
{
    const struct unwind_origin origin = RECORD_ORIGIN();

    if (!lifecycle_is_ready() || !g_real.posix_spawnp)
        return ENOSYS;
    return spawn(g_real.posix_spawnp, ret_pid, file, actions, attributes, arguments, environment,
                 &origin);
}

/* ---- exec ------------------------------------------------------------------------------------ */

/* What every exec does before the call (it makes the environment to pass) and after a failure. */
static char *const *exec_begins(char *const *environment, const char *library)
{
    bool is_own;

    control_commands_handle_early(); /* they do not affect the log of the next image */
    is_own = (state_is_recording() || state_is_waiting()) && state_is_own_process();
    if (is_own)
        end_by_exec();
    else if (state_is_recording()) /* a vfork child */
        count_child(1);
    if (!is_own && !is_following())
        return environment_once_left(environment);
    if (!is_own)
        describe_child((uint32_t)sys_getpid(), LOG_CHILD_BEGINS);
    return environment_for_exec(environment, library);
}

static int exec_failed(int result)
{
    if (state_is_recording() && !state_is_own_process()) { /* see exec_begins */
        count_child(-1);
        if (is_following())
            describe_child((uint32_t)sys_getpid(), LOG_CHILD_CAME_TO_NOTHING);
    }
    end_exec_failed();
    return result;
}

/* The call failed because of what we added to the environment. */
static bool is_too_long(int result, char *const *passed, char *const *environment)
{
    return result != 0 && errno == E2BIG && passed != environment;
}

static int exec_path(const char *path, char *const arguments[], char *const environment[])
{
    char *const *passed;
    int result;

    if (!lifecycle_is_ready() || !g_real.execve) {
        errno = ENOSYS;
        return -1;
    }
    passed = exec_begins(environment, exec_target_library(path, false));
    result = g_real.execve(path, arguments, passed);
    if (is_too_long(result, passed, environment))
        result = g_real.execve(path, arguments, environment);
    return exec_failed(result);
}

static int exec_file(const char *file, char *const arguments[], char *const environment[])
{
    char *const *passed;
    int result;

    if (!lifecycle_is_ready() || !g_real.execvpe) {
        errno = ENOSYS;
        return -1;
    }
    passed = exec_begins(environment, exec_target_library(file, true));
    result = g_real.execvpe(file, arguments, passed);
    if (is_too_long(result, passed, environment))
        result = g_real.execvpe(file, arguments, environment);
    return exec_failed(result);
}

MTRACE_EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    return exec_path(path, arguments, environment);
}

MTRACE_EXPORT int execv(const char *path, char *const arguments[])
{
    return exec_path(path, arguments, *real_environ());
}

MTRACE_EXPORT int execvp(const char *file, char *const arguments[])
{
    return exec_file(file, arguments, *real_environ());
}

MTRACE_EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    return exec_file(file, arguments, environment);
}

MTRACE_EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    char *const *passed;
    int result;

    if (!lifecycle_is_ready() || !g_real.fexecve) {
        errno = ENOSYS;
        return -1;
    }
    if (!environment) /* refused here; other exec calls accept it */
        return g_real.fexecve(fd, arguments, environment);
    passed = exec_begins(environment, exec_target_library_at(fd, ""));
    result = g_real.fexecve(fd, arguments, passed);
    if (is_too_long(result, passed, environment))
        result = g_real.fexecve(fd, arguments, environment);
    return exec_failed(result);
}

MTRACE_EXPORT int execveat(int directory, const char *path, char *const arguments[],
                           char *const environment[], int flags)
{
    char *const *passed;
    int result;

    if (!lifecycle_is_ready() || !g_real.execveat) {
        errno = ENOSYS;
        return -1;
    }
    passed = exec_begins(environment, exec_target_library_at(directory, path));
    result = g_real.execveat(directory, path, arguments, passed, flags);
    if (is_too_long(result, passed, environment))
        result = g_real.execveat(directory, path, arguments, environment, flags);
    return exec_failed(result);
}

enum {
    ARGUMENTS_ON_STACK = 128
};

/* The arguments of an execl* as an array; `local` if they fit, else a mapping of their own. */
struct argument_list {
    char *local[ARGUMENTS_ON_STACK];
    char **array;
    size_t array_bytes; /* of the mapping; 0 = local */
};

static size_t count_arguments(va_list arguments)
{
    size_t n = 1;

    /* The list is the caller's. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    while (va_arg(arguments, char *))
        n++;
    return n;
}

/* Leaves `arguments` after the terminating NULL, where execle has its environment. */
static bool collect(struct argument_list *list, const char *first, size_t n, va_list arguments)
{
    list->array = list->local;
    list->array_bytes = 0;
    if (n >= ARGUMENTS_ON_STACK) {
        list->array_bytes = (n + 1) * sizeof(char *);
        list->array = memory_map_inherited(list->array_bytes); /* a handler may fork */
        if (!list->array) {
            errno = ENOMEM;
            return false;
        }
    }
    list->array[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i <= n; i++)
        list->array[i] = va_arg(arguments, char *);
    return true;
}

static void release(const struct argument_list *list)
{
    if (list->array_bytes)
        memory_unmap(list->array, list->array_bytes);
}

typedef int exec_function(const char *, char *const[], char *const[]);

static int exec_list(exec_function *exec, const char *path, const char *first, va_list counted,
                     va_list arguments, bool has_environment)
{
    struct argument_list list;
    char *const *environment = *real_environ();
    int result;

    if (!collect(&list, first, first ? count_arguments(counted) : 0, arguments))
        return -1;
    if (has_environment)
        /* The list is the caller's. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
        environment = va_arg(arguments, char *const *);
    result = exec(path, list.array, environment);
    release(&list);
    return result;
}

#define EXEC_LIST(exec, path, first, has_environment)                           \
    va_list counted;                                                            \
    va_list arguments;                                                          \
    int result;                                                                 \
    va_start(counted, first);                                                   \
    va_start(arguments, first);                                                 \
    result = exec_list(exec, path, first, counted, arguments, has_environment); \
    va_end(counted);                                                            \
    va_end(arguments);                                                          \
    return result

MTRACE_EXPORT int execl(const char *path, const char *first, ...)
{
    EXEC_LIST(exec_path, path, first, false);
}

MTRACE_EXPORT int execle(const char *path, const char *first, ...)
{
    EXEC_LIST(exec_path, path, first, true);
}

MTRACE_EXPORT int execlp(const char *file, const char *first, ...)
{
    EXEC_LIST(exec_file, file, first, false);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static MTRACE_NORETURN void end_immediately(int status)
{
    if (lifecycle_is_ready() && g_real.exit_immediately) {
        end_take_image(SELF_REPORT_FRAME());
        mapped_memory_record_heaps();
        end_write(LOG_END_IMMEDIATE, status);
        g_real.exit_immediately(status);
    }
    __builtin_trap();
}

MTRACE_EXPORT void _exit(int status)
{
    end_immediately(status);
}

MTRACE_EXPORT void _Exit(int status)
{
    end_immediately(status);
}

MTRACE_EXPORT void quick_exit(int status)
{
    if (lifecycle_is_ready() && g_real.quick_exit) {
        end_take_image(SELF_REPORT_FRAME());
        mapped_memory_record_heaps();
        end_write(LOG_END_QUICK, status);
        g_real.quick_exit(status);
    }
    __builtin_trap();
}

MTRACE_EXPORT void abort(void)
{
    if (lifecycle_is_ready() && g_real.abort) {
        end_write(LOG_END_ABORT, SIGABRT);
        g_real.abort();
    }
    __builtin_trap();
}
