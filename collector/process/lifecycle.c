/* SPDX-License-Identifier: MIT */
#include "collector/process/lifecycle.h"

#include "collector/events/allocator_guard.h"
#include "collector/events/capture.h"
#include "collector/events/embedded_allocator.h"
#include "collector/events/mapped_memory.h"
#include "collector/events/record.h"
#include "collector/groups/event_callbacks.h"
#include "collector/log/definition.h"
#include "collector/log/module_file.h"
#include "collector/log/modules.h"
#include "collector/log/segment.h"
#include "collector/log/stack_tree.h"
#include "collector/os/clock.h"
#include "collector/os/loader_lock.h"
#include "collector/os/memory.h"
#include "collector/os/real.h"
#include "collector/os/sys.h"
#include "collector/process/control_commands.h"
#include "collector/process/describe.h"
#include "collector/process/end.h"
#include "collector/process/environment.h"
#include "collector/process/got_rebinding.h"
#include "collector/process/loading.h"
#include "collector/process/output.h"
#include "collector/process/self_report.h"
#include "collector/sampling/live_block_index.h"
#include "collector/sampling/sampled_blocks.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"
#include "collector/unwind/own_stacks.h"

#include <signal.h>
#include <stdatomic.h>

extern void *__libc_stack_end;

static uint64_t g_run_id; /* of this process' log; in a fork child at first the parent's */

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

/* ---- start ----------------------------------------------------------------------------------- */

static bool begin_unblocked(const struct output_parent *parent, bool is_tracing)
{
    modules_init();
    module_file_init(state_config()->keep_symbols_bytes);
    capture_init(state_config());
    record_init();
    if (!output_open(state_config(), parent)) {
        state_turn_off();
        return false;
    }
    g_run_id = segment_log()->run_id;
    describe_recording(initial_arguments());
    environment_note_tracing(is_tracing);
    environment_update();
    segment_count_drops(LOG_DROP_NESTED, thread_n_stranded());
    if (!is_tracing)
        __atomic_fetch_or(&segment_log()->flags, LOG_FLAG_STARTED_OFF, __ATOMIC_RELAXED);
    control_commands_begin(is_tracing);
    state_record(is_tracing);
    return true;
}

/* Signals are blocked: a handler that forks here would leave its child a half-made log. */
static bool begin_recording(const struct output_parent *parent, bool is_tracing)
{
    struct signals_block quiet;
    bool has_begun;

    (void)signals_block_begin_always(&quiet);
    has_begun = begin_unblocked(parent, is_tracing);
    signals_block_end(&quiet);
    return has_begun;
}

/* Forgets the previous log, except for its segments. */
static void forget_log(void)
{
    definition_forget();
    record_forget();
    stack_tree_forget();
    modules_forget();
    thread_numbers_forget();
    mapped_memory_forget_paths();
    resident_pages_forget();
}

/* LC-2: forgets everything in the parent's mappings without reading it. */
static MTRACE_COLD bool begin_in_child(void)
{
    struct output_parent parent = {output_first_path(), g_run_id, state_pid(), true};
    bool is_tracing = state_is_tracing(); /* as in the parent */

    if (thread_is_stranded() || !state_start_in_child())
        return false;
    segment_forget();
    memory_forget();
    own_stacks_forget();
    event_callbacks_forget();
    got_rebinding_forget();
    modules_forget_unloads();
    definition_forget(); /* a message may come before there is a log */
    if (!state_config()->follows_children) {
        state_turn_off();
        return false;
    }
    forget_log();
    return begin_recording(&parent, is_tracing);
}

/* This process already recorded before an exec. */
static bool is_later_image(const struct config *config)
{
    return config->ancestor[0] && config->ancestor_pid == (uint32_t)sys_getpid();
}

/* A bare preload records every process that it reaches. It does not record children of a program
 * that passes on our variables without our library, as a static one does after an exec. */
static bool is_target(const struct config *config)
{
    if (config->follows_children)
        return true;
    if (config->target_pid != 0)
        return config->target_pid == (uint32_t)sys_getpid();
    return !config->ancestor[0] || is_later_image(config);
}

/* The ancestor left its recording, so nothing more of it is recorded. A program that a later
 * mtrace-record starts belongs to another recording. */
static void forget_left_ancestor(struct config *config)
{
    if (!config->is_ancestor_left || config->target_pid != (uint32_t)sys_getpid()
        || is_later_image(config))
        return;
    config->is_ancestor_left = false;
    config->ancestor[0] = '\0';
}

static void handle(void)
{
    control_commands_handle();
    loading_handle();
}

static const struct state_hooks hooks = {begin_in_child, handle};

static MTRACE_COLD void begin(void)
{
    const char *const *environment = (const char *const *)initial_environment();
    struct config *config = &g_state_config;
    struct output_parent parent;
    bool has_generations;
    bool is_tracing;
    const char *plan;
    size_t n_plan = 0;

    if (!state_start(STATE_UNSTARTED))
        return;
    config_read(environment, config);
    forget_left_ancestor(config);
    message_init(config);
    has_generations = state_init(&hooks);
    thread_init();
    clock_init(config->may_use_tsc);
    if (!has_generations || !g_real.malloc || !is_target(config) || config->is_ancestor_left) {
        state_turn_off();
        return;
    }
    plan = config_find_assignment(environment, "MTRACE_INSIDE", &n_plan);
    embedded_allocator_redirect(plan, n_plan);
    if (config->is_disabled_by_default && config->recorder_pid == 0 && !is_later_image(config)) {
        state_wait();
        return;
    }
    is_tracing =
        config->ancestor[0] ? config->is_ancestor_tracing : !config->is_disabled_by_default;
    if (!is_tracing)
        state_await_first_window();
    parent = (struct output_parent){config->ancestor[0] ? config->ancestor : NULL,
                                    config->ancestor_run_id, config->ancestor_pid, false};
    begin_recording(&parent, is_tracing);
}

/* Before the program's first block, so that the heap's first address is known. */
bool lifecycle_make_ready_slow(void)
{
    if (real_is_bootstrap() || !real_init(allocator_guard_guard))
        return false;
    begin();
    return true;
}

/* ---- switching at run time ------------------------------------------------------------------- */

void lifecycle_switch_tracing(bool is_on, enum log_switch reason)
{
    struct output_parent none = {NULL, 0, 0, false};
    struct signals_block quiet;

    if (is_on && state_start(STATE_WAITING))
        (void)begin_recording(&none, false);
    if (!signals_block_begin(&quiet))
        return;
    control_commands_switch(is_on, reason);
    signals_block_end(&quiet);
    loading_look();
}

static void handle_toggle(int number)
{
    (void)number;
    lifecycle_switch_tracing(!state_is_tracing(), LOG_SWITCH_SIGNAL);
}

/* Only if requested, and only if there is no handler yet. */
static void install_toggle(int number)
{
    struct sigaction old;
    struct sigaction action = {.sa_flags = SA_RESTART};
    int (*set_action)(int, const struct sigaction *, struct sigaction *) = NULL;

    *(void **)(void *)&set_action = real_find_in_libc("sigaction");
    if (number == 0 || !set_action || set_action(number, NULL, &old) != 0
        || old.sa_handler != SIG_DFL)
        return;
    action.sa_handler = handle_toggle;
    set_action(number, &action, NULL);
}

/* ---- before main ----------------------------------------------------------------------------- */

/* Runs after the destructors of all libraries, because it was registered before main. */
static void handle_exit(int status, void *unused)
{
    (void)unused;
    loading_look();
    end_take_image(SELF_REPORT_FRAME());
    mapped_memory_record_heaps();
    end_write(LOG_END_EXIT, status);
}

static void register_exit_handler(void)
{
    int (*register_handler)(void (*)(int, void *), void *) = NULL;

    *(void **)(void *)&register_handler = real_find_in_libc("on_exit");
    if (register_handler)
        register_handler(handle_exit, NULL);
}

void lifecycle_construct(void)
{
    if (!lifecycle_is_ready())
        return;
    if (!state_config()->follows_children) {
        environment_restore(initial_environment());
    } else {
        environment_keep_all(initial_environment());
        if (state_is_recording())
            environment_announce();
    }
    if (state_is_off())
        return;
    loading_begin();
    register_exit_handler();
    install_toggle(state_config()->toggle_signal);
    capture_open_oracle(state_config());
}

/* ---- in a program that runs already ---------------------------------------------------------- */

/* As in a fork child, where the mappings are gone. Here they stay while a thread may still be about
 * to leave the collector. */
static void forget_last(bool is_left)
{
    if (is_left) {
        segment_unmap();
        memory_unmap_all();
    }
    segment_forget();
    forget_log();
    sampled_blocks_forget_all();
    live_block_index_forget_all();
    state_clear_set_flags();
}

enum {
    NAP_NS = 1000000,
    MAX_NAPS = 2000
};

/* With ld.so locked (LL-1), because other threads load and unload. */
static bool find_real(void)
{
    bool is_found;

    real_search_all();
    is_found = real_init(allocator_guard_guard);
    clock_init(true);
    return is_found;
}

static bool prepare_once(void)
{
    bool has_generations;

    if (!state_start(STATE_UNSTARTED))
        return false;
    has_generations = loader_lock_call(find_real) && state_init(&hooks);
    thread_init();
    if (!has_generations)
        state_turn_off();
    else
        register_exit_handler();
    return has_generations;
}

bool lifecycle_attach(const char *settings)
{
    const char *const environment[] = {settings, NULL};
    const struct output_parent none = {NULL, 0, 0, false};
    struct config *config = &g_state_config;

    if (g_real.malloc ? !state_start(STATE_OFF) : !prepare_once())
        return false;
    config_read(environment, config);
    forget_last(config->is_left);
    config->is_attached = true;
    (void)environment_keep(settings);
    message_init(config);
    if (config->is_disabled_by_default)
        state_await_first_window();
    if (!begin_recording(&none, !config->is_disabled_by_default))
        return false;
    (void)got_rebinding_set(true);
    loading_note(false); /* a second look: RF-1 */
    return true;
}

/* Restores the slots. Calls that still lead to us are passed on. Another thread that examines or
 * changes modules is usually done soon. */
static void restore_slots(void)
{
    int n = 0;

    while (!got_rebinding_set(false) && n++ < MAX_NAPS)
        sys_nap(NAP_NS);
    if (n > MAX_NAPS)
        message(CONFIG_LEVEL_WARN, "calls still go to this library: ld.so was busy", "", 0);
}

bool lifecycle_detach(void)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return false;
    if (state_config()->is_attached)
        restore_slots();
    end_recording();
    signals_block_end(&quiet);
    return true;
}
