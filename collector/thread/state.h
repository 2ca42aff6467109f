/* SPDX-License-Identifier: MIT */
/*
 * state: whether this process image records, and what its user asked for.
 *
 *      unstarted ──first event, or our constructor──► starting ──► recording
 *          │                                             │             │ fork child: if followed,
 *          │ not the target, no log, no real malloc      │             ▼ starting again, else off
 *          └───────────────────────────────► off ◄───────┴─────────────┘
 *      waiting: MTRACE_DISABLE_BY_DEFAULT; no log until tracing is switched on.
 *
 * Model:   who begins, forks and ends processes (life/) sets it, who records asks it. One word that
 *          the kernel wipes in fork children holds the process' generation; who finds it wiped calls
 *          the one function that life/ left here.
 * Invariants
 *   SE-1 What g_state_generation points to is 0 in a process that has no log of its own, whatever call made it;
 *        else it is even, and no other process of its ancestry had this value.
 *   SE-2 A fork child begins once: who saw it unbegun and comes late finds that another one did.
 * Threads: any. Signals: safe. Failure: off.
 */
#ifndef MTRACE_COLLECTOR_STATE_H
#define MTRACE_COLLECTOR_STATE_H

#include "collector/os/config.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum state {
    STATE_UNSTARTED,
    STATE_STARTING,
    STATE_RECORDING,
    STATE_WAITING,
    STATE_OFF,
};

/* What makes an event take another way than most do: one word, so that it takes one test to know that
 * nothing does. */
enum state_way {
    STATE_TRACING_OFF = 1, /* frees are recorded, allocations are not */
    STATE_WATCHED = 2, /* blocks are known, and the program is told of them (event_callbacks.h) */
    STATE_NO_FREE_STACKS = 4,
    STATE_UNOPENED = 8, /* no window was open yet: no block can be known, frees are not recorded */
    STATE_SAMPLED = 16, /* most blocks are not recorded (sampler.h) */
    STATE_SLOW_PATH_FLAGS =
        32, /* not every block is as the real functions give and take it: it is zeroed, or of real_early_allocate */
    STATE_NUDGED = 1 << 8, /* look whether the recorder orders something (control_commands.h) */
};

/* What the recorder may find from outside (log_control.wakeup_address): it sets STATE_NUDGED by a byte of its own. */
struct state_shared {
    uint64_t run_id;       /* by it the recorder knows that it has found the word */
    _Atomic uint32_t ways; /* of enum state_way; written by state.c */
};

extern MTRACE_HIDDEN struct state_shared g_state_shared;

static inline unsigned state_ways(void)
{
    return atomic_load_explicit(&g_state_shared.ways, memory_order_relaxed);
}

static inline bool state_has_way(unsigned ways)
{
    return (state_ways() & ways) != 0;
}

/* Acquire: what was made before state_watch is there, though the word was read without. */
static inline bool state_is_watched(void)
{
    if (!state_has_way(STATE_WATCHED))
        return false;
    atomic_thread_fence(memory_order_acquire);
    return true;
}

/* The next event of any thread obeys. */
void state_wakeup(void);

/* Before the order is looked at: one that comes later nudges again. */
void state_take_wakeup(void);

/* Where the nudge lies, little-endian. */
uint64_t state_wakeup_address(void);

/* Calls what life/ left here, if there was a nudge. */
MTRACE_COLD void state_handle(void);

/* Also false where nothing is recorded. */
static inline bool state_is_tracing(void)
{
    return !state_has_way(STATE_TRACING_OFF);
}

/* Returns what it was. */
bool state_set_tracing(bool is_on);

/* No window was open in this process or in one that it was forked from. */
void state_await_first_window(void);

/* From now on, once and for all. */
void state_watch(void);
void state_take_no_free_stacks(void);
/* What the last recording of this process took is not what the next one takes. */
void state_forget_taken(void);
void state_take_samples(void);
void state_take_slow_path_flags(void);

/* Points to the word that a fork wipes; never NULL. */
extern MTRACE_HIDDEN const _Atomic uint64_t *g_state_generation;

/* Written while starting; read by state_config. */
extern MTRACE_HIDDEN struct config g_state_config;

static inline const struct config *state_config(void)
{
    return &g_state_config;
}

/* What life/ does when events find that it is due. */
struct state_hooks {
    bool (*begin_in_child)(void); /* by whoever asks first in a fork child; true: it records now */
    void (*handle)(void);         /* of who was nudged; the gate is open */
};

/* Makes the wiped word; once per process image. False: the kernel cannot wipe on fork, nothing can be recorded. */
MTRACE_NODISCARD bool state_init(const struct state_hooks *hooks);

/* From `from` to starting, by one caller only. */
MTRACE_NODISCARD bool state_start(enum state from);

/* From recording, as it is inherited, to starting, by one caller in the life of a fork child. */
MTRACE_NODISCARD bool state_start_in_child(void);

/* Starting ended with a log: a new generation of threads begins to record. */
void state_record(uint64_t run_id, bool is_tracing);

/* Starting ended without one. */
void state_wait(void);
void state_turn_off(void);
/* Recording ends for good, unless it is begun once more: no thread enters any more. */
void state_retire(void);
bool state_is_waiting(void);

extern MTRACE_HIDDEN _Atomic uint32_t g_state_now; /* enum state; written by state.c */

static inline bool state_is_off(void)
{
    return atomic_load_explicit(&g_state_now, memory_order_relaxed) == STATE_OFF;
}

MTRACE_COLD bool state_begin_in_child(void);

/* The log is mapped in this very process. Detects fork children, which start if they are followed. */
static inline bool state_is_recording(void)
{
    /* acquire: what was made while starting is there */
    if (mtrace_unlikely(atomic_load_explicit(&g_state_now, memory_order_acquire)
                        != STATE_RECORDING))
        return false;
    return mtrace_likely(atomic_load_explicit(g_state_generation, memory_order_relaxed) != 0)
           || state_begin_in_child();
}

/* The pid this log is about: a vfork child that runs in our memory has another one. */
bool state_is_own_process(void);

/* Of the process whose state this is; in a fork child, before it started, the parent's. */
uint32_t state_pid(void);

#endif
