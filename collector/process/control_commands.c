/* SPDX-License-Identifier: MIT */
#include "collector/process/control_commands.h"

#include "collector/events/record.h"
#include "collector/log/segment.h"
#include "collector/os/config.h"
#include "collector/process/end.h"
#include "collector/process/environment.h"
#include "collector/process/got_rebinding.h"
#include "collector/thread/state.h"
#include "collector/thread/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static _Atomic uintptr_t g_handler; /* CT-1: frame of the thread that executes commands; 0: none */
/* Used by the executing thread. */
static _Atomic uint32_t g_done; /* the last `wanted` that was executed */
static _Atomic uint32_t g_n_marks;
static _Atomic uint32_t g_n_windows;

/* CT-3: after concurrent switches the last thread writes the final state. */
static void publish_window_state(void)
{
    struct log_mailbox *mailbox = segment_commands_get();
    bool is_on;

    do {
        is_on = state_is_tracing();
        atomic_store_explicit(&mailbox->is_open,
                              is_on ? atomic_load_explicit(&g_n_windows, memory_order_relaxed) + 1
                                    : 0,
                              memory_order_seq_cst);
        environment_note_tracing(is_on);
        atomic_thread_fence(memory_order_seq_cst);
    } while (state_is_tracing() != is_on);
}

void control_commands_begin(bool is_on)
{
    struct log_mailbox *mailbox = segment_commands_get();

    atomic_store_explicit(&g_handler, 0, memory_order_relaxed); /* may be a thread of the parent */
    atomic_store_explicit(&g_done, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_marks, 0, memory_order_relaxed);
    atomic_store_explicit(&mailbox->is_open, is_on, memory_order_relaxed);
}

void control_commands_switch(bool is_on, enum log_switch reason)
{
    if (state_set_tracing(is_on) == is_on)
        return;
    if (!is_on)
        __atomic_fetch_or(&segment_log()->flags, LOG_FLAG_TRACING_WAS_OFF, __ATOMIC_RELAXED);
    else
        atomic_fetch_add_explicit(&g_n_windows, 1, memory_order_relaxed);
    (void)record_note(LOG_TRACING, is_on, reason);
    publish_window_state();
}

static void put_marker(const struct log_mailbox *mailbox)
{
    char name[LOG_MAILBOX_NAME_BYTES];
    uint64_t words[3] = {0, 0, 0};

    memcpy(name, mailbox->name, sizeof(name));
    name[sizeof(name) - 1] = '\0';
    (void)record_labelled(LOG_MARK, 0, words, 3, name, NULL);
}

static enum log_command command_in(uint32_t wanted)
{
    return (enum log_command)(wanted & ((1u << LOG_WANTED_COMMAND_BITS) - 1));
}

/* CT-5. Calls that still lead to us, because ld.so is busy, are passed on. */
static void leave(void)
{
    if (state_config()->is_attached)
        (void)got_rebinding_set(false);
    end_recording();
}

static void do_wanted(uint32_t wanted)
{
    uint32_t reason = wanted >> LOG_WANTED_COMMAND_BITS & ((1u << LOG_WANTED_REASON_BITS) - 1);

    if (atomic_exchange_explicit(&g_done, wanted, memory_order_relaxed) == wanted)
        return;
    if (command_in(wanted) == LOG_COMMAND_DETACH)
        leave();
    else
        control_commands_switch(command_in(wanted) == LOG_COMMAND_START, (enum log_switch)reason);
}

/* CT-4. A marker is written inside the window, if there is one. n_handled only grows, because
 * threads execute one after the other. */
static void handle(struct log_mailbox *mailbox)
{
    uint32_t number = atomic_load_explicit(&mailbox->n_given, memory_order_acquire);
    uint32_t wanted = atomic_load_explicit(&mailbox->wanted, memory_order_relaxed);
    uint32_t n_marks = atomic_load_explicit(&mailbox->n_marks, memory_order_acquire); /* its name */

    if (command_in(wanted) == LOG_COMMAND_START)
        do_wanted(wanted);
    if (atomic_exchange_explicit(&g_n_marks, n_marks, memory_order_relaxed) != n_marks)
        put_marker(mailbox);
    do_wanted(wanted);
    atomic_store_explicit(&mailbox->n_handled, number, memory_order_release);
}

/* Takes the right to execute commands, also from a frame of this thread that was left by longjmp.
 * That happens only if signals cannot be blocked. Acquire: pairs with give_up. */
static bool claim(uintptr_t frame)
{
    uintptr_t handler = 0;

    return atomic_compare_exchange_strong_explicit(&g_handler, &handler, frame,
                                                   memory_order_acquire, memory_order_relaxed)
           || (thread_has_left(&g_thread, handler, frame)
               && atomic_compare_exchange_strong_explicit(
                   &g_handler, &handler, frame, memory_order_acquire, memory_order_relaxed));
}

/* Compare-and-swap: in a later recording of this process it may belong to another thread. */
static void give_up(uintptr_t frame)
{
    (void)atomic_compare_exchange_strong_explicit(&g_handler, &frame, 0, memory_order_release,
                                                  memory_order_relaxed);
}

/* CT-1. The fences: either a thread that found a command finds no executing thread, or this one
 * finds its command.  */
static void handle_all(uintptr_t frame)
{
    while (state_is_recording() && segment_commands_are_due()) {
        atomic_thread_fence(memory_order_seq_cst);
        if (!claim(frame))
            break;
        handle(segment_commands_get());
        give_up(frame);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

void control_commands_handle(void)
{
    struct signals_block quiet;

    state_clear_command_pending();
    if (!signals_block_begin(&quiet))
        return;
    if (state_is_own_process()) {
        handle_all((uintptr_t)__builtin_frame_address(0));
    } else if (segment_commands_are_due()) { /* CT-5 */
        state_set_command_pending();
    }
    signals_block_end(&quiet);
}

void control_commands_handle_early(void)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return;
    if (segment_commands_are_due())
        control_commands_handle();
    signals_block_end(&quiet);
}
