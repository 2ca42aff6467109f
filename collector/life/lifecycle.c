/* SPDX-License-Identifier: MIT */
#include "collector/life/lifecycle.h"

#include "collector/record/capture.h"
#include "collector/platform/clock.h"
#include "collector/log/definition.h"
#include "collector/life/environment.h"
#include "collector/platform/fmt.h"
#include "collector/record/heap_extent.h"
#include "collector/record/mapped_path.h"
#include "collector/platform/memory.h"
#include "collector/log/message.h"
#include "collector/log/modules.h"
#include "collector/life/output.h"
#include "collector/platform/real.h"
#include "collector/record/record.h"
#include "collector/record/reentry.h"
#include "collector/log/segment.h"
#include "collector/log/stack_tree.h"
#include "collector/platform/sys.h"
#include "collector/life/thread.h"
#include "common/attr.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/auxv.h>

extern void *__libc_stack_end;

enum state {
    STATE_UNSTARTED,
    STATE_STARTING,
    STATE_RECORDING,
    STATE_WAITING,
    STATE_OFF,
};

_Atomic bool g_lifecycle_is_tracing;

static _Atomic uint32_t g_state;
struct config g_lifecycle_config;
static uint64_t g_run_id; /* of this process' log; inherited, the parent's in a fork child */
static uint32_t g_pid;

static void set_state(enum state state)
{
    atomic_store_explicit(&g_state, state, memory_order_release);
}

/* argc, arguments, NULL, environment, NULL as the kernel laid them out: libc's own variables are
 * not set before its constructor has run. */
static char **initial_arguments(void)
{
    return (char **)__libc_stack_end + 1;
}

static char **initial_environment(void)
{
    return initial_arguments() + *(const long *)__libc_stack_end + 1;
}

/* ---- what the log says first -------------------------------------------------------------------
 */

static bool is_file(const char *path, struct sys_file_id *ret_id)
{
    long fd = sys_open(path, O_PATH, 0);
    bool is_known = fd >= 0 && sys_file_id((int)fd, ret_id) >= 0;

    if (fd >= 0)
        sys_close((int)fd);
    return is_known;
}

/*
 * The name the program was called by, where that is another name of the same file (redis-server is
 * a link to redis-check-rdb); else the file's. A script's name is not that of its interpreter.
 */
static void name_executable(struct fmt *out)
{
    const char *called = (const char *)getauxval(AT_EXECFN);
    struct sys_file_id own;
    struct sys_file_id other;
    long length;

    if (called && *called == '/' && is_file("/proc/self/exe", &own) && is_file(called, &other)
        && own.inode == other.inode && own.device == other.device) {
        fmt_string(out, called);
        return;
    }
    length = sys_readlink("/proc/self/exe", out->text, out->capacity_bytes - 1);
    out->size_bytes = length > 0 ? (size_t)length : 0;
}

static void define_process(void)
{
    static char text[LOG_DEF_MAX_BYTES - sizeof(struct log_def)];
    struct fmt out = FMT_BUFFER(text);
    struct log_def def = {.kind = LOG_DEF_PROCESS};
    char **arguments = initial_arguments();

    name_executable(&out);
    for (; *arguments && !out.is_cut; arguments++) {
        fmt_char(&out, '\0');
        fmt_string(&out, *arguments);
    }
    definition_write(&def, text, out.size_bytes, NULL, 0);
}

static void define_setting(const char *name, uint64_t value)
{
    char text[64];
    struct fmt out = FMT_BUFFER(text);

    fmt_string(&out, name);
    fmt_char(&out, '=');
    fmt_decimal(&out, value);
    definition_text(LOG_DEF_SETTING, 0, text, out.size_bytes);
}

static void define_settings(void)
{
    static const char *const unwinders[] = {"fast", "libunwind", "frame-pointer", "none", "check"};
    char text[64];
    struct fmt out = FMT_BUFFER(text);

    fmt_string(&out, "MTRACE_UNWINDER=");
    fmt_string(&out, unwinders[g_lifecycle_config.unwinder]);
    definition_text(LOG_DEF_SETTING, 0, text, out.size_bytes);
    define_setting("MTRACE_BACKTRACES_ON_FREE", g_lifecycle_config.has_free_backtraces);
    define_setting("MTRACE_MAX_DEPTH", g_lifecycle_config.max_depth);
    define_setting("MTRACE_MAX_LIVE", g_lifecycle_config.max_live_bytes);
    define_setting("MTRACE_FOLLOW_CHILDREN", g_lifecycle_config.follows_children);
    define_setting("MTRACE_ZERO_MEMORY", g_lifecycle_config.zeroes_memory);
    define_setting("MTRACE_GATHER_MMAPS", g_lifecycle_config.gathers_mmaps);
}

static void describe(void)
{
    struct log_file *log = segment_log();

    define_process();
    define_settings();
    if (g_lifecycle_config.bad_variable)
        message(CONFIG_LEVEL_WARN,
                "ignored, the value makes no sense: ", g_lifecycle_config.bad_variable, 0);
    if (!real_is_malloc_ours()) {
        __atomic_fetch_or(&log->flags, LOG_FLAG_FOREIGN_MALLOC, __ATOMIC_RELAXED);
        message(CONFIG_LEVEL_WARN, "malloc is defined before this library, its calls are not seen",
                NULL, 0);
    }
    if (real_is_new_foreign()) {
        __atomic_fetch_or(&log->flags, LOG_FLAG_FOREIGN_NEW, __ATOMIC_RELAXED);
        message(
            CONFIG_LEVEL_WARN,
            "operator new is the allocator's own, its blocks are not seen; set MTRACE_LIBRARY to "
            "libmtrace-new.so beside ",
            real_own_path(), 0);
    }
    message(CONFIG_LEVEL_INFO, "recording into ", output_path(), 0);
}

/* ---- start -------------------------------------------------------------------------------------
 */

static bool begin_recording(const struct output_parent *parent)
{
    modules_init();
    capture_init(&g_lifecycle_config);
    record_init();
    if (!output_open(&g_lifecycle_config, parent)) {
        set_state(STATE_OFF);
        return false;
    }
    g_run_id = segment_log()->run_id;
    g_pid = (uint32_t)sys_getpid();
    describe();
    environment_update();
    thread_new_generation();
    atomic_store_explicit(&g_lifecycle_is_tracing, true, memory_order_relaxed);
    set_state(STATE_RECORDING);
    return true;
}

static MTRACE_COLD bool start_slow(void)
{
    uint32_t unstarted = STATE_UNSTARTED;
    struct output_parent parent;

    if (!atomic_compare_exchange_strong_explicit(&g_state, &unstarted, STATE_STARTING,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false;
    config_read((const char *const *)initial_environment(), &g_lifecycle_config);
    message_init(&g_lifecycle_config);
    thread_init();
    clock_init(g_lifecycle_config.may_use_tsc);
    if (!thread_has_generations() || !g_real.malloc
        || (g_lifecycle_config.target_pid != 0
            && g_lifecycle_config.target_pid != (uint32_t)sys_getpid()
            && !g_lifecycle_config.follows_children)) {
        set_state(STATE_OFF);
        return false;
    }
    if (g_lifecycle_config.is_disabled_by_default) {
        set_state(STATE_WAITING);
        return false;
    }
    parent =
        (struct output_parent){g_lifecycle_config.ancestor[0] ? g_lifecycle_config.ancestor : NULL,
                               g_lifecycle_config.ancestor_run_id, g_lifecycle_config.ancestor_pid, false};
    return begin_recording(&parent);
}

/* LC-2: all that lived in the parent's mappings is forgotten without being looked at. */
static MTRACE_COLD bool start_in_child_slow(void)
{
    struct output_parent parent = {output_first_path(), g_run_id, g_pid, true};
    uint32_t recording = STATE_RECORDING;

    if (!atomic_compare_exchange_strong_explicit(&g_state, &recording, STATE_STARTING,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false;
    segment_forget();
    memory_forget();
    if (!g_lifecycle_config.follows_children) {
        set_state(STATE_OFF);
        return false;
    }
    definition_forget();
    record_forget();
    stack_tree_forget();
    modules_forget();
    mapped_path_forget();
    return begin_recording(&parent);
}

bool lifecycle_is_recording(void)
{
    uint32_t state = atomic_load_explicit(&g_state, memory_order_acquire);

    if (mtrace_likely(state == STATE_RECORDING))
        return atomic_load_explicit(g_generation, memory_order_relaxed) != 0
               || start_in_child_slow();
    return state == STATE_UNSTARTED && lifecycle_is_ready_for_calls() && start_slow();
}

bool lifecycle_is_own_process(void)
{
    /* Behind a seccomp filter the kernel is not asked, and no one will exec. */
    return sys_is_forbidden() || (uint32_t)sys_getpid() == g_pid;
}

bool lifecycle_is_ready_for_calls(void)
{
    if (mtrace_likely(g_real.malloc != NULL))
        return true;
    if (real_is_early() || !real_init(reentry_guard))
        return false;
    /* Before the program's first block, so that the heap's first address is known. */
    lifecycle_is_recording();
    return true;
}

/* ---- switching at run time ---------------------------------------------------------------------
 */

void lifecycle_switch_tracing(bool is_on)
{
    uint32_t waiting = STATE_WAITING;
    struct output_parent none = {NULL, 0, 0, false};

    if (is_on
        && atomic_compare_exchange_strong_explicit(&g_state, &waiting, STATE_STARTING,
                                                   memory_order_acq_rel, memory_order_relaxed)) {
        begin_recording(&none);
        return;
    }
    if (!lifecycle_is_recording()
        || atomic_exchange_explicit(&g_lifecycle_is_tracing, is_on, memory_order_relaxed) == is_on)
        return;
    if (!is_on)
        __atomic_fetch_or(&segment_log()->flags, LOG_FLAG_SIDE_TRACING_OFF, __ATOMIC_RELAXED);
    record_note(LOG_TRACING, is_on);
}

static void handle_toggle(int number)
{
    (void)number;
    lifecycle_switch_tracing(!atomic_load_explicit(&g_lifecycle_is_tracing, memory_order_relaxed));
}

/* Only when asked for, and not in place of a handler that is there already. */
static void install_toggle(int number)
{
    struct sigaction old;
    struct sigaction action = {.sa_flags = SA_RESTART};

    if (number == 0 || sigaction(number, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
        return;
    action.sa_handler = handle_toggle;
    sigaction(number, &action, NULL);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

void lifecycle_end(enum log_end kind, int value)
{
    uint64_t words[3] = {0, 0, (uint64_t)kind | (uint64_t)(uint32_t)value << 32};

    if (!lifecycle_is_recording() || !lifecycle_is_own_process())
        return;
    record_event(LOG_END, 0, words, 3, NULL);
    atomic_store_explicit(&segment_log()->end_value, value, memory_order_relaxed);
    atomic_store_explicit(&segment_log()->end_kind, kind, memory_order_release);
}

void lifecycle_exec_begins(void)
{
    lifecycle_end(LOG_END_EXEC, 0);
}

/* A child of the fork has a log of its own, or none: the parent's is not touched. */
void lifecycle_goes_on(void)
{
    if (lifecycle_is_recording() && lifecycle_is_own_process())
        atomic_store_explicit(&segment_log()->end_kind, LOG_END_UNKNOWN, memory_order_release);
}

void lifecycle_exec_failed(void)
{
    if (!lifecycle_is_recording() || !lifecycle_is_own_process())
        return;
    atomic_store_explicit(&segment_log()->end_kind, LOG_END_UNKNOWN, memory_order_release);
    record_note(LOG_EXEC_FAILED, 0);
}

void lifecycle_define_child(uint32_t pid)
{
    struct fmt out = {memory_borrow(), MEMORY_BORROWED_BYTES, 0, false};
    struct log_def def = {.kind = LOG_DEF_CHILD, .a = pid};

    if (!out.text)
        return;
    output_child_path(&g_lifecycle_config, pid, &out);
    definition_write(&def, out.text, out.size_bytes, NULL, 0);
    memory_return(out.text);
}

/* Runs after the destructors of all libraries, because it was registered before main. */
static void handle_exit(int status, void *unused)
{
    (void)unused;
    heap_extent_record();
    lifecycle_end(LOG_END_EXIT, status);
}

void lifecycle_construct(void)
{
    if (!lifecycle_is_ready_for_calls())
        return;
    lifecycle_is_recording();
    if (!g_lifecycle_config.follows_children)
        environment_restore(initial_environment());
    else if (lifecycle_is_recording())
        environment_announce();
    if (atomic_load_explicit(&g_state, memory_order_relaxed) == STATE_OFF)
        return;
    on_exit(handle_exit, NULL);
    install_toggle(g_lifecycle_config.toggle_signal);
    capture_open_oracle(&g_lifecycle_config);
}
