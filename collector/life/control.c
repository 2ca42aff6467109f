/* SPDX-License-Identifier: MIT */
#include "collector/life/control.h"

#include "collector/attached/references.h"
#include "collector/life/end.h"
#include "collector/life/environment.h"
#include "collector/log/orders.h"
#include "collector/log/segment.h"
#include "collector/platform/config.h"
#include "collector/record/quiet.h"
#include "collector/record/record.h"
#include "collector/record/state.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

static _Atomic uint32_t g_n_claimed; /* orders */
/* Of who claims them. */
static _Atomic uint32_t g_done; /* the last `wanted` that was obeyed */
static _Atomic uint32_t g_n_marks;
static _Atomic uint32_t g_n_windows;

static const uint64_t g_patience_ns = 2000000000;

/* Of who was not there when it was looked for; 0: it was. */
static _Atomic uint64_t g_gone_since_ns;
static _Atomic uint32_t g_last_beat;

/* CT-3: whoever comes last looks once more. */
static void tell_of_window(void)
{
    struct log_control *control = orders_get();
    bool is_on;

    do {
        is_on = state_is_tracing();
        atomic_store_explicit(&control->is_open,
                              is_on ? atomic_load_explicit(&g_n_windows, memory_order_relaxed) + 1
                                    : 0,
                              memory_order_seq_cst);
        environment_note_tracing(is_on);
        atomic_thread_fence(memory_order_seq_cst);
    } while (state_is_tracing() != is_on);
}

void control_begin(bool is_on)
{
    struct log_control *control = orders_get();

    atomic_store_explicit(&g_n_claimed, 0, memory_order_relaxed);
    atomic_store_explicit(&g_done, 0, memory_order_relaxed);
    atomic_store_explicit(&g_n_marks, 0, memory_order_relaxed);
    atomic_store_explicit(&g_gone_since_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&control->is_open, is_on, memory_order_relaxed);
    atomic_store_explicit(&control->nudge_address, state_nudge_address(), memory_order_release);
}

void control_switch(bool is_on, enum log_switch reason)
{
    if (state_set_tracing(is_on) == is_on)
        return;
    if (!is_on)
        __atomic_fetch_or(&segment_log()->flags, LOG_FLAG_SIDE_TRACING_OFF, __ATOMIC_RELAXED);
    else
        atomic_fetch_add_explicit(&g_n_windows, 1, memory_order_relaxed);
    (void)record_note(LOG_TRACING, is_on, reason);
    tell_of_window();
}

static void put_marker(const struct log_control *control)
{
    char name[LOG_CONTROL_NAME_BYTES];
    uint64_t words[3] = {0, 0, 0};

    memcpy(name, control->name, sizeof(name));
    name[sizeof(name) - 1] = '\0';
    (void)record_labelled(LOG_MARK, 0, words, 3, name, NULL);
}

static enum log_order order_in(uint32_t wanted)
{
    return (enum log_order)(wanted & ((1u << LOG_WANTED_ORDER_BITS) - 1));
}

/* CT-5. Calls that still lead to us, where ld.so is busy, are passed on. */
static void leave(void)
{
    if (state_config()->is_attached)
        (void)references_lead(false);
    end_recording();
}

static void do_wanted(uint32_t wanted)
{
    uint32_t reason = wanted >> LOG_WANTED_ORDER_BITS & ((1u << LOG_WANTED_REASON_BITS) - 1);

    if (atomic_exchange_explicit(&g_done, wanted, memory_order_relaxed) == wanted)
        return;
    if (order_in(wanted) == LOG_ORDER_LEAVE)
        leave();
    else
        control_switch(order_in(wanted) == LOG_ORDER_START, (enum log_switch)reason);
}

/* CT-4. An instant that is marked is in the window if there is one. */
static void obey(struct log_control *control, uint32_t number)
{
    uint32_t wanted = atomic_load_explicit(&control->wanted, memory_order_relaxed);
    uint32_t n_marks = atomic_load_explicit(&control->n_marks, memory_order_acquire); /* its name */

    if (order_in(wanted) == LOG_ORDER_START)
        do_wanted(wanted);
    if (atomic_exchange_explicit(&g_n_marks, n_marks, memory_order_relaxed) != n_marks)
        put_marker(control);
    do_wanted(wanted);
    atomic_store_explicit(&control->n_obeyed, number, memory_order_release);
}

static bool has_recorder(uint32_t *ret_beat)
{
    struct log_file *log = segment_log();
    uint32_t pid = atomic_load_explicit(&log->recorder_pid, memory_order_relaxed);

    *ret_beat = atomic_load_explicit(&log_question_of(log)->beat, memory_order_relaxed);
    return sys_process_exists((long)(pid ? pid : state_config()->recorder_pid)) == 0;
}

/* CT-6. Its pid may be another's, or of another namespace: there the beat goes on. */
static bool is_forgotten(void)
{
    uint64_t since_ns = atomic_load_explicit(&g_gone_since_ns, memory_order_relaxed);
    uint64_t now_ns;
    uint32_t beat;

    if (state_is_tracing() || state_config()->recorder_pid == 0 || sys_is_forbidden()
        || !state_is_own_process())
        return false;
    if (has_recorder(&beat)) {
        atomic_store_explicit(&g_gone_since_ns, 0, memory_order_relaxed);
        return false;
    }
    now_ns = sys_clock_ns(CLOCK_MONOTONIC);
    if (since_ns && atomic_load_explicit(&g_last_beat, memory_order_relaxed) == beat)
        return now_ns > since_ns + g_patience_ns
               && atomic_compare_exchange_strong_explicit(&g_gone_since_ns, &since_ns, 0,
                                                          memory_order_relaxed,
                                                          memory_order_relaxed); /* one thread */
    atomic_store_explicit(&g_last_beat, beat, memory_order_relaxed);
    atomic_store_explicit(&g_gone_since_ns, now_ns, memory_order_relaxed);
    return false;
}

/* CT-5. It obeys with its next event. */
static bool must_wait(const struct log_control *control)
{
    return order_in(atomic_load_explicit(&control->wanted, memory_order_relaxed)) == LOG_ORDER_LEAVE
           && !state_is_own_process();
}

/* CT-1 */
void control_obey(void)
{
    struct log_control *control;
    struct quiet quiet;
    uint32_t n_given;
    uint32_t n_claimed;

    state_take_nudge();
    if (!quiet_begin(&quiet))
        return;
    control = orders_get();
    if (must_wait(control)) {
        state_nudge();
        quiet_end(&quiet);
        return;
    }
    n_given = atomic_load_explicit(&control->n_given, memory_order_acquire);
    n_claimed = atomic_load_explicit(&g_n_claimed, memory_order_relaxed);
    if (n_claimed != n_given
        && atomic_compare_exchange_strong_explicit(&g_n_claimed, &n_claimed, n_given,
                                                   memory_order_relaxed, memory_order_relaxed))
        obey(control, n_given);
    else if (is_forgotten())
        leave();
    quiet_end(&quiet);
}

void control_obey_early(void)
{
    struct quiet quiet;

    if (!quiet_begin(&quiet))
        return;
    if (orders_are_due())
        control_obey();
    quiet_end(&quiet);
}
