/* SPDX-License-Identifier: MIT */
/*
 * rare_lock: a lock for tables that are changed rarely, by threads that can wait.
 *
 * Invariants
 *   RL-1 The lock names its holder: process and thread. Signals are blocked while it is held, so
 *        that no handler waits for what it interrupted, or leaves by siglongjmp.
 *   RL-2 It is taken over only from a thread that does not exist any more, as in a fork child,
 *        however long the holder is delayed. A new thread with the id of a dead holder knows that
 *        it is not the holder. A half-finished change of the guarded data must be harmless.
 *
 * Any thread; the fast path never takes one. Async-signal-safe. Fails after
 * RARE_LOCK_TIME_LIMIT_NS, or if the caller holds it already (where signals cannot be blocked).
 */
#ifndef MTRACE_COLLECTOR_RARE_LOCK_H
#define MTRACE_COLLECTOR_RARE_LOCK_H

#include "collector/os/sys.h"
#include "lib/abi/attr.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RARE_LOCK_TIME_LIMIT_NS 10000000000u

struct rare_lock {
    _Atomic uint64_t holder; /* process and thread; 0: none */
};

struct rare_hold {
    uint64_t holder;
    struct sys_signals mask;
    const struct rare_lock *before; /* the lock that the thread held before, or NULL */
    bool is_blocked;
};

/* False: the lock is not held and must not be released. */
MTRACE_NODISCARD bool rare_lock_take(struct rare_lock *lock, struct rare_hold *ret_hold);
void rare_lock_give_up(struct rare_lock *lock, const struct rare_hold *hold);

#endif
