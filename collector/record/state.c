/* SPDX-License-Identifier: MIT */
#include "collector/record/state.h"

#include "collector/arch/arch.h"
#include "collector/platform/memory.h"
#include "collector/platform/sys.h"

#include <stddef.h>
#include <sys/mman.h>

_Atomic uint8_t g_state_ways = STATE_TRACING_OFF;
struct config g_state_config;

static const _Atomic uint64_t g_no_generation; /* 0: every gate is closed */
const _Atomic uint64_t *g_state_generation = &g_no_generation;

static _Atomic uint64_t *g_wiped_word; /* the same word, writable; NULL before state_init */
static uint64_t g_last_generation;     /* even; inherited by fork children, so theirs are new */
_Atomic uint32_t g_state_now;
static uint32_t g_pid;                 /* written by state_record and state_wait */
static bool (*g_begin_in_child)(void); /* written by state_init */

bool state_init(bool (*begin_in_child)(void))
{
    void *page = memory_map_inherited(ARCH_PAGE_BYTES);

    if (!page || sys_advise(page, ARCH_PAGE_BYTES, MADV_WIPEONFORK) < 0)
        return false;
    g_wiped_word = page;
    g_begin_in_child = begin_in_child;
    return true;
}

static void set(enum state state)
{
    atomic_store_explicit(&g_state_now, state, memory_order_release);
}

bool state_set_tracing(bool is_on)
{
    unsigned before =
        is_on ? atomic_fetch_and_explicit(&g_state_ways, (uint8_t)~STATE_TRACING_OFF,
                                          memory_order_relaxed)
              : atomic_fetch_or_explicit(&g_state_ways, STATE_TRACING_OFF, memory_order_relaxed);

    return !(before & STATE_TRACING_OFF);
}

void state_watch(void)
{
    atomic_fetch_or_explicit(&g_state_ways, STATE_WATCHED, memory_order_release);
}

void state_take_no_free_stacks(void)
{
    atomic_fetch_or_explicit(&g_state_ways, STATE_NO_FREE_STACKS, memory_order_relaxed);
}

bool state_start(enum state from)
{
    uint32_t expected = from;

    return atomic_compare_exchange_strong_explicit(&g_state_now, &expected, STATE_STARTING,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

void state_record(void)
{
    g_pid = (uint32_t)sys_getpid();
    atomic_store_explicit(g_wiped_word, g_last_generation += 2, memory_order_release);
    g_state_generation = g_wiped_word;
    state_set_tracing(true);
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

MTRACE_COLD bool state_begin_in_child(void)
{
    return g_begin_in_child();
}

bool state_is_own_process(void)
{
    /* Behind a seccomp filter the kernel is not asked, and no one will exec. */
    return sys_is_forbidden() || (uint32_t)sys_getpid() == g_pid;
}

uint32_t state_pid(void)
{
    return g_pid;
}
