/* SPDX-License-Identifier: MIT */
/*
 * state: does this process record, and which slow paths do its events take?
 *
 *      unstarted ── first event or constructor ──► starting ──► recording
 *          │                                          │             │ fork child: starting again if
 *          │ not the target, no log, no real malloc   │             ▼ children followed, else off
 *          └────────────────────────────► off ◄───────┴─────────────┘
 *      waiting: MTRACE_DISABLE_BY_DEFAULT; there is no log until tracing is switched on
 *
 * process/ changes the state; the event path reads it. A word that the kernel clears in fork
 * children (MADV_WIPEONFORK) holds the generation of the process. An event that finds it cleared
 * calls the begin_in_child hook of process/.
 *
 * Invariants
 *   SE-1 The generation that g_state_generation points to is 0 in a process without a log of its
 *        own. Otherwise it is even, and no ancestor of the process had this value.
 *   SE-2 A fork child starts once, whichever threads find the cleared word.
 *   QU-1 From a successful signals_block_begin to signals_block_end the process has its own log,
 *        and no signal handler runs in this thread. Behind a seccomp filter signals cannot be
 *        blocked.
 *
 * Any thread, also inside the recursion guard (thread.h). Async-signal-safe. After a failure the
 * state is off.
 */
#ifndef MTRACE_COLLECTOR_STATE_H
#define MTRACE_COLLECTOR_STATE_H

#include "collector/os/config.h"
#include "collector/os/sys.h"
#include "lib/abi/attr.h"
#include "lib/abi/log_format.h"

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

/* Slow-path flags, in one word: the fast path tests all of them at once. */
enum mode_flag {
    MODE_TRACING_OFF = 1, /* frees are recorded, allocations are not */
    MODE_CALLBACKS = 2,   /* the program has event callbacks (event_callbacks.h) */
    MODE_NO_FREE_STACKS = 4,
    MODE_NO_WINDOW_YET =
        8,             /* no window was open yet, so no block is known: frees are not recorded */
    MODE_SAMPLED = 16, /* most blocks are not recorded (sampler.h) */
    MODE_SPECIAL_BLOCKS =
        32, /* blocks are zeroed, or some are bootstrap blocks (real_bootstrap_allocate) */
    MODE_COMMAND_PENDING = 64, /* the recorder may have a command (control_commands.h) */
};

extern MTRACE_HIDDEN _Atomic uint32_t g_mode_flags; /* of enum mode_flag; written by state.c */

static inline unsigned mode_flags(void)
{
    return atomic_load_explicit(&g_mode_flags, memory_order_relaxed);
}

static inline bool mode_has(unsigned ways)
{
    return (mode_flags() & ways) != 0;
}

/* The fence pairs with state_set_callbacks: what was written before it is visible. */
static inline bool state_has_callbacks(void)
{
    if (!mode_has(MODE_CALLBACKS))
        return false;
    atomic_thread_fence(memory_order_acquire);
    return true;
}

/* Makes the next event of any thread look for commands. */
void state_set_command_pending(void);

/* Clears the wakeup flag. Called before the command is read, so that a later one sets it again. */
void state_clear_command_pending(void);

/* Calls the handle hook of process/ if the wakeup flag is set. */
MTRACE_COLD void state_run_pending(void);

/* False also if nothing is recorded. */
static inline bool state_is_tracing(void)
{
    return !mode_has(MODE_TRACING_OFF);
}

/* Returns what it was. */
bool state_set_tracing(bool is_on);

/* No window was open yet, neither here nor in the parent. */
void state_await_first_window(void);

/* These set flags that stay until state_clear_set_flags. */
void state_set_callbacks(void);
void state_set_no_free_stacks(void);
void state_clear_set_flags(void);
void state_set_sampled(void);
void state_set_special_blocks(void);

/* Points to the word that the kernel clears in fork children; never NULL. */
extern MTRACE_HIDDEN const _Atomic uint64_t *g_state_generation;

/* Written while starting; read by state_config. */
extern MTRACE_HIDDEN struct config g_state_config;

static inline const struct config *state_config(void)
{
    return &g_state_config;
}

/* Functions of process/ that the event path calls. */
struct state_hooks {
    bool (*begin_in_child)(void); /* in a fork child; true: it records now */
    void (*handle)(void);         /* a command may be there; the recursion guard is open */
};

/* Maps the word of the generation; once per process image. False: the kernel has no
 * MADV_WIPEONFORK, nothing can be recorded. */
MTRACE_NODISCARD bool state_init(const struct state_hooks *hooks);

/* Changes `from` to starting; true for one caller only. */
MTRACE_NODISCARD bool state_start(enum state from);

/* Changes the inherited state to starting; true for one caller per fork child. */
MTRACE_NODISCARD bool state_start_in_child(void);

/* Ends starting with a log: a new generation of threads begins to record. */
void state_record(bool is_tracing);

/* End starting without a log. */
void state_wait(void);
void state_turn_off(void);
/* Ends recording: no thread enters any more, until it starts again. */
void state_retire(void);
bool state_is_waiting(void);

extern MTRACE_HIDDEN _Atomic uint32_t g_state_now; /* enum state; written by state.c */

static inline bool state_is_off(void)
{
    return atomic_load_explicit(&g_state_now, memory_order_relaxed) == STATE_OFF;
}

MTRACE_COLD bool state_begin_in_child(void);

/* The log is mapped in this process. In a fork child this starts its own recording first. */
static inline bool state_is_recording(void)
{
    /* acquire: what starting wrote is visible */
    if (mtrace_unlikely(atomic_load_explicit(&g_state_now, memory_order_acquire)
                        != STATE_RECORDING))
        return false;
    return mtrace_likely(atomic_load_explicit(g_state_generation, memory_order_relaxed) != 0)
           || state_begin_in_child();
}

/* False in a vfork child, which runs in the memory of its parent. */
bool state_is_own_process(void);

/* PID of the recorded process; in a fork child that has not started, of the parent. */
uint32_t state_pid(void);

/* ---- signals-blocked sections ---- */

/*
 * For writing to the log without the recursion guard. A fork child does not inherit the log. If a
 * signal handler forks while an event is being recorded, the guard shows this and the child gets
 * memory in place of the log. Code outside the guard would find nothing when the handler returns in
 * the child, so it blocks signals. Sections nest.
 */
struct signals_block {
    struct sys_signals mask;
    bool is_blocked;
};

/* False: this process does not record; do not call signals_block_end. A fork child may start its
 * own log here. */
MTRACE_NODISCARD bool signals_block_begin(struct signals_block *ret_block);
void signals_block_end(const struct signals_block *quiet);

/* Blocks signals also if there is no log; always call signals_block_end. True: there is a log. */
bool signals_block_begin_always(struct signals_block *ret_block);

/* Counts a dropped event. */
void signals_block_count_drop(enum log_drop reason);

/* Writes a line of diagnostics (definition.h). */
void signals_block_message(enum config_level level, const char *text);

#endif
