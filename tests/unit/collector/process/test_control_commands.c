/* SPDX-License-Identifier: MIT */
/* Commands that arrive during another one: which thread handles them, and how often; and a detach
 * without a recorder. */
#include "collector/events/allocator_guard.h"
#include "collector/log/segment.h"
#include "collector/os/clock.h"
#include "collector/process/control_commands.h"
#include "collector/thread/state.h"
#include "lib/abi/log_format.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/recording_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LONGEST_SECONDS = 60, /* otherwise a thread waits forever */
    N_COMMANDS = 3000,
    MAX_MARKS = 8,
};

static struct log_fixture g_log;

/* ---- functions that control_commands.c calls, and events during them ------------------------- */

static void (*g_in_the_midst)(void); /* once, while a window is being begun or ended */
static _Atomic uint32_t g_n_switches, g_n_marked, g_n_unwritten;
static char g_marks[MAX_MARKS][LOG_MAILBOX_NAME_BYTES];
static _Atomic bool g_is_child;
static unsigned g_n_left;

bool __wrap_record_note(enum log_event_kind kind, uint32_t value, uint64_t address);
bool __real_record_note(enum log_event_kind kind, uint32_t value, uint64_t address);
bool __wrap_record_labelled(enum log_event_kind kind, uint64_t address, uint64_t *words,
                            unsigned n_words, const char *text, uint64_t *ret_ticks);
bool __real_record_labelled(enum log_event_kind kind, uint64_t address, uint64_t *words,
                            unsigned n_words, const char *text, uint64_t *ret_ticks);
bool __wrap_state_is_own_process(void);
void __wrap_end_recording(void);

static bool was_written(bool is_it)
{
    atomic_fetch_add(&g_n_unwritten, !is_it);
    return is_it;
}

bool __wrap_record_note(enum log_event_kind kind, uint32_t value, uint64_t address)
{
    void (*in_the_midst)(void) = g_in_the_midst;

    g_in_the_midst = NULL;
    if (in_the_midst)
        in_the_midst();
    atomic_fetch_add(&g_n_switches, 1);
    return was_written(__real_record_note(kind, value, address));
}

bool __wrap_record_labelled(enum log_event_kind kind, uint64_t address, uint64_t *words,
                            unsigned n_words, const char *text, uint64_t *ret_ticks)
{
    uint32_t n = atomic_fetch_add(&g_n_marked, 1);

    if (n < MAX_MARKS)
        (void)snprintf(g_marks[n], sizeof(g_marks[n]), "%s", text);
    return was_written(__real_record_labelled(kind, address, words, n_words, text, ret_ticks));
}

bool __wrap_state_is_own_process(void)
{
    return !atomic_load(&g_is_child);
}

void __wrap_end_recording(void)
{
    g_n_left++;
}

/* ---- the recorder ---------------------------------------------------------------------------- */

static uint32_t g_n_wanted;

static void want(enum log_command order)
{
    atomic_store(&segment_commands_get()->wanted,
                 (uint32_t)order | LOG_SWITCH_CONTROL << LOG_WANTED_COMMAND_BITS
                     | ++g_n_wanted << (LOG_WANTED_COMMAND_BITS + LOG_WANTED_REASON_BITS));
    atomic_fetch_add(&segment_commands_get()->n_given, 1);
}

static void want_mark(const char *name)
{
    (void)snprintf(segment_commands_get()->name, sizeof(segment_commands_get()->name), "%s", name);
    atomic_fetch_add(&segment_commands_get()->n_marks, 1);
    atomic_fetch_add(&segment_commands_get()->n_given, 1);
}

static uint32_t n_handled(void)
{
    return atomic_load(&segment_commands_get()->n_handled);
}

/* A recording without commands. */
static void begin_again(bool is_tracing)
{
    struct log_mailbox *control = segment_commands_get();

    memset(control, 0, sizeof(*control));
    control_commands_begin(is_tracing);
    (void)state_set_tracing(is_tracing);
    g_n_wanted = 0;
    g_in_the_midst = NULL;
    atomic_store(&g_n_switches, 0);
    atomic_store(&g_n_marked, 0);
    atomic_store(&g_n_unwritten, 0);
    atomic_store(&g_is_child, false);
}

static int begin(void **state)
{
    static const struct config config = {.max_depth = 8};

    (void)state;
    alarm(LONGEST_SECONDS);
    return recording_fixture_begin(&g_log, 16, &config) ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    log_fixture_close(&g_log);
    return 0;
}

/* ---- another thread handles commands --------------------------------------------------------- */

static _Atomic int g_stage;

static void wait_for_stage(int stage)
{
    while (atomic_load(&g_stage) < stage)
        ;
}

static void be_held(void)
{
    atomic_store(&g_stage, 1);
    wait_for_stage(2);
}

static void *handle(void *unused)
{
    control_commands_handle();
    return unused;
}

/* A thread that is held where it begins the requested window. */
static pthread_t hold_one(void)
{
    pthread_t thread;

    atomic_store(&g_stage, 0);
    want(LOG_COMMAND_START);
    g_in_the_midst = be_held;
    assert_int_equal(pthread_create(&thread, NULL, handle, NULL), 0);
    wait_for_stage(1);
    return thread;
}

static void let_go(pthread_t thread)
{
    atomic_store(&g_stage, 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

TESTS_WITH(begin, finish);

TEST(a_mark_that_comes_while_a_window_is_begun_is_written_once)
{
    pthread_t thread;

    begin_again(false);
    thread = hold_one();
    want_mark("once");
    control_commands_handle();
    assert_int_equal(n_handled(), 0); /* so that no other name is given in between */
    let_go(thread);
    assert_int_equal(n_handled(), 2);
    assert_int_equal(g_n_marked, 1);
    assert_string_equal(g_marks[0], "once");
    want_mark("later");
    control_commands_handle();
    assert_int_equal(n_handled(), 3);
    assert_int_equal(g_n_marked, 2);
    assert_string_equal(g_marks[1], "later");
    assert_true(state_is_tracing());
}

TEST(a_stop_that_comes_while_a_window_is_begun_is_not_undone)
{
    pthread_t thread;

    begin_again(false);
    thread = hold_one();
    want(LOG_COMMAND_STOP);
    control_commands_handle();
    assert_int_equal(n_handled(), 0);
    let_go(thread);
    assert_int_equal(n_handled(), 2);
    assert_false(state_is_tracing());
    assert_int_equal(segment_commands_get()->is_open, 0);
    assert_int_equal(g_n_switches, 2);
    control_commands_handle();
    assert_int_equal(g_n_switches, 2);
}

static _Atomic bool g_has_ended;

static void *handle_always(void *unused)
{
    while (!atomic_load(&g_has_ended))
        control_commands_handle();
    return unused;
}

TEST(of_what_two_threads_look_for_each_is_done_once)
{
    pthread_t thread;

    begin_again(false);
    assert_int_equal(pthread_create(&thread, NULL, handle_always, NULL), 0);
    for (uint32_t i = 1; i <= N_COMMANDS; i++) {
        if (i % 3)
            want(i % 2 ? LOG_COMMAND_START : LOG_COMMAND_STOP);
        else
            want_mark("again");
        do
            control_commands_handle();
        while (n_handled() != i);
        if (i % 3)
            assert_int_equal(state_is_tracing(), i % 2 == 1);
    }
    atomic_store(&g_has_ended, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(g_n_marked, N_COMMANDS / 3);
    assert_int_equal(n_handled(), N_COMMANDS);
}

/* ---- a handler that does not return ---------------------------------------------------------- */

TEST(a_child_forked_during_a_command_handles_commands)
{
    pthread_t thread;
    int status = 1;
    pid_t child;

    begin_again(false);
    thread = hold_one();
    child = fork();
    if (child == 0) { /* its log is the parent's here, its recording is not */
        bool is_due = state_start(STATE_RECORDING);
        state_record(false);
        begin_again(false);
        want(LOG_COMMAND_START);
        control_commands_handle();
        _exit(!is_due || n_handled() != 1 || !state_is_tracing());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    begin_again(false); /* as another recording of this process; the thread returns into it */
    let_go(thread);
    assert_int_equal(status, 0);
    begin_again(false);
    want(LOG_COMMAND_START);
    control_commands_handle();
    assert_int_equal(n_handled(), 1);
}

TEST(a_child_that_shares_memory_leaves_commands_to_the_parent)
{
    for (enum log_command order = LOG_COMMAND_STOP; order <= LOG_COMMAND_DETACH; order++) {
        g_n_left = 0;
        begin_again(order == LOG_COMMAND_STOP);
        want(order == LOG_COMMAND_MARK ? LOG_COMMAND_START : order);
        atomic_store(&g_is_child, true);
        control_commands_handle();
        assert_int_equal(n_handled(), 0);
        assert_int_equal(g_n_switches + g_n_left, 0);
        assert_true(mode_has(MODE_COMMAND_PENDING));
        atomic_store(&g_is_child, false);
        control_commands_handle();
        assert_int_equal(n_handled(), 1);
        assert_int_equal(g_n_switches + g_n_left, 1);
        assert_false(mode_has(MODE_COMMAND_PENDING));
        atomic_store(&g_is_child, true); /* without a command it leaves nothing to the parent */
        control_commands_handle();
        assert_false(mode_has(MODE_COMMAND_PENDING));
    }
}

static sigjmp_buf g_outside;

static void jump_out(void)
{
    siglongjmp(g_outside, 1);
}

/* As a handler does behind a seccomp filter. */
TEST(a_thread_that_jumped_out_handles_commands_again)
{
    begin_again(false);
    want(LOG_COMMAND_START);
    g_in_the_midst = jump_out;
    if (sigsetjmp(g_outside, 1) == 0) {
        control_commands_handle();
        fail();
    }
    want(LOG_COMMAND_STOP);
    control_commands_handle();
    assert_int_equal(n_handled(), 2);
    assert_false(state_is_tracing());
}

static void order_and_look(void)
{
    want(LOG_COMMAND_STOP);
    control_commands_handle();
    assert_int_equal(n_handled(), 0);
}

TEST(an_interrupting_handler_leaves_commands_to_the_thread)
{
    begin_again(false);
    want(LOG_COMMAND_START);
    g_in_the_midst = order_and_look;
    control_commands_handle();
    assert_int_equal(n_handled(), 2);
    assert_false(state_is_tracing());
    assert_int_equal(g_n_switches, 2);
}

static void write_event(void)
{
    assert_true(__real_record_note(LOG_TRACING, true, LOG_SWITCH_PROGRAM));
}

/* In the same segment, with tracing on: the time of the event decides (RO-4). */
TEST(an_event_finds_a_command_after_a_while)
{
    const uint64_t while_ticks = 1ull << 20;
    uint64_t since, sequence;

    begin_again(true);
    state_clear_command_pending();
    write_event();
    sequence = segment_log()->next_sequence;
    want(LOG_COMMAND_STOP);
    since = clock_ticks_before();
    while (clock_ticks_before() - since < while_ticks)
        ;
    assert_false(mode_has(MODE_COMMAND_PENDING));
    write_event();
    assert_int_equal(segment_log()->next_sequence, sequence);
    assert_true(mode_has(MODE_COMMAND_PENDING));
    control_commands_handle();
    assert_int_equal(n_handled(), 1);
    assert_false(state_is_tracing());
}

/* In an allocator other than glibc's, or whose handler interrupts it (allocator_guard.h), events
 * are not recorded, but begins and ends of windows are. */
TEST(commands_inside_an_allocator_are_recorded)
{
    bool has_entered;

    begin_again(false);
    has_entered = allocator_guard_enter();
    assert_true(has_entered);
    want(LOG_COMMAND_START);
    want_mark("within");
    control_commands_handle();
    control_commands_switch(false, LOG_SWITCH_SIGNAL);
    allocator_guard_leave(has_entered);
    assert_int_equal(n_handled(), 2);
    assert_int_equal(g_n_switches, 2);
    assert_int_equal(g_n_marked, 1);
    assert_int_equal(g_n_unwritten, 0);
}
