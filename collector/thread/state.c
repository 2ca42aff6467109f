/* SPDX-License-Identifier: MIT */
#include "collector/thread/state.h"

#include "collector/arch/arch.h"
#include "collector/log/definition.h"
#include "collector/log/segment.h"
#include "collector/os/memory.h"
#include "collector/os/sys.h"

#include <stddef.h>
#include <sys/mman.h>

_Atomic uint32_t g_mode_flags = MODE_TRACING_OFF;
struct config g_state_config;

static const _Atomic uint64_t g_no_generation; /* 0: every guard is closed */
const _Atomic uint64_t *g_state_generation = &g_no_generation;

static _Atomic uint64_t *g_wiped_word; /* the same word, writable; NULL before state_init */
static _Atomic uint64_t *g_is_begun;   /* in a fork child: a thread began it; cleared, too */
static uint64_t g_last_generation; /* even; inherited by fork children, so that theirs are new */
_Atomic uint32_t g_state_now;
static uint32_t g_pid;             /* written by state_record and state_wait */
static struct state_hooks g_hooks; /* written by state_init */

bool state_init(const struct state_hooks *hooks)
{
    void *page = memory_map_inherited(ARCH_PAGE_BYTES);

    if (!page || sys_advise(page, ARCH_PAGE_BYTES, MADV_WIPEONFORK) < 0)
        return false;
    g_wiped_word = page;
    g_is_begun = g_wiped_word + 1;
    g_hooks = *hooks;
    return true;
}

static void set(enum state state)
{
    atomic_store_explicit(&g_state_now, state, memory_order_release);
}

static unsigned set_mode_flag(enum mode_flag way, memory_order order)
{
    return atomic_fetch_or_explicit(&g_mode_flags, way, order);
}

bool state_set_tracing(bool is_on)
{
    const uint32_t others = ~(uint32_t)(MODE_TRACING_OFF | MODE_NO_WINDOW_YET);
    unsigned before = is_on ? atomic_fetch_and_explicit(&g_mode_flags, others, memory_order_relaxed)
                            : set_mode_flag(MODE_TRACING_OFF, memory_order_relaxed);

    return !(before & MODE_TRACING_OFF);
}

void state_set_callbacks(void)
{
    (void)set_mode_flag(MODE_CALLBACKS, memory_order_release);
}

void state_set_no_free_stacks(void)
{
    (void)set_mode_flag(MODE_NO_FREE_STACKS, memory_order_relaxed);
}

void state_clear_set_flags(void)
{
    (void)atomic_fetch_and_explicit(
        &g_mode_flags, ~(uint32_t)(MODE_SAMPLED | MODE_NO_FREE_STACKS | MODE_SPECIAL_BLOCKS),
        memory_order_relaxed);
}

void state_await_first_window(void)
{
    (void)set_mode_flag(MODE_NO_WINDOW_YET, memory_order_relaxed);
}

void state_set_command_pending(void)
{
    (void)set_mode_flag(MODE_COMMAND_PENDING, memory_order_relaxed);
}

void state_clear_command_pending(void)
{
    (void)atomic_fetch_and_explicit(&g_mode_flags, ~(uint32_t)MODE_COMMAND_PENDING,
                                    memory_order_seq_cst);
}

MTRACE_COLD void state_run_pending(void)
{
    if (mode_has(MODE_COMMAND_PENDING))
        g_hooks.handle();
}

void state_set_sampled(void)
{
    (void)set_mode_flag(MODE_SAMPLED, memory_order_relaxed);
}

void state_set_special_blocks(void)
{
    (void)set_mode_flag(MODE_SPECIAL_BLOCKS, memory_order_relaxed);
}

bool state_start(enum state from)
{
    uint32_t expected = from;

    return atomic_compare_exchange_strong_explicit(&g_state_now, &expected, STATE_STARTING,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

bool state_start_in_child(void)
{
    return atomic_exchange_explicit(g_is_begun, 1, memory_order_acq_rel) == 0
           && state_start(STATE_RECORDING);
}

void state_record(bool is_tracing)
{
    g_pid = (uint32_t)sys_getpid();
    atomic_store_explicit(g_wiped_word, g_last_generation += 2, memory_order_release);
    g_state_generation = g_wiped_word;
    state_clear_command_pending(); /* the parent's */
    (void)state_set_tracing(is_tracing);
    set(STATE_RECORDING);
}

void state_wait(void)
{
    g_pid = (uint32_t)sys_getpid();
    set(STATE_WAITING);
}

bool state_is_waiting(void)
{
    return atomic_load_explicit(&g_state_now, memory_order_relaxed) == STATE_WAITING;
}

void state_turn_off(void)
{
    state_set_tracing(false);
    set(STATE_OFF);
}

void state_retire(void)
{
    state_turn_off();
    atomic_store_explicit(g_wiped_word, 0, memory_order_release);
}

MTRACE_COLD bool state_begin_in_child(void)
{
    return g_hooks.begin_in_child();
}

bool state_is_own_process(void)
{
    /* Behind a seccomp filter the call is avoided, and no thread will exec. */
    return sys_is_forbidden() || (uint32_t)sys_getpid() == g_pid;
}

uint32_t state_pid(void)
{
    return g_pid;
}

/* ---- signals-blocked sections ---- */

/* Until state_is_recording runs in a fork child, it takes the parent's log for its own. */
bool signals_block_begin_always(struct signals_block *ret_block)
{
    ret_block->is_blocked = sys_block_signals(&ret_block->mask) >= 0;
    return state_is_recording();
}

/* Makes no system call if nothing is recorded. */
bool signals_block_begin(struct signals_block *ret_block)
{
    if (!state_is_recording())
        return false;
    if (signals_block_begin_always(ret_block))
        return true;
    signals_block_end(ret_block);
    return false;
}

void signals_block_end(const struct signals_block *quiet)
{
    if (quiet->is_blocked)
        sys_unblock_signals(quiet->mask);
}

void signals_block_count_drop(enum log_drop reason)
{
    struct signals_block quiet;

    if (!signals_block_begin(&quiet))
        return;
    segment_count_drop(reason);
    signals_block_end(&quiet);
}

void signals_block_message(enum config_level level, const char *text)
{
    struct signals_block quiet;

    signals_block_begin_always(&quiet);
    message(level, text, NULL, 0);
    signals_block_end(&quiet);
}
