/* SPDX-License-Identifier: MIT */
#include "collector/life/control.h"

#include "collector/life/environment.h"
#include "collector/log/orders.h"
#include "collector/log/segment.h"
#include "collector/record/quiet.h"
#include "collector/record/record.h"
#include "collector/record/state.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic uint32_t g_n_claimed; /* orders */
static _Atomic uint32_t g_n_windows;

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

static void obey(struct log_control *control, uint32_t number)
{
    if (control->order == LOG_ORDER_MARK)
        put_marker(control);
    else
        control_switch(control->order == LOG_ORDER_START, (enum log_switch)control->reason);
    atomic_store_explicit(&control->n_obeyed, number, memory_order_release);
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
    n_given = atomic_load_explicit(&control->n_given, memory_order_acquire);
    n_claimed = atomic_load_explicit(&g_n_claimed, memory_order_relaxed);
    if (n_claimed != n_given
        && atomic_compare_exchange_strong_explicit(&g_n_claimed, &n_claimed, n_given,
                                                   memory_order_relaxed, memory_order_relaxed))
        obey(control, n_given);
    quiet_end(&quiet);
}
