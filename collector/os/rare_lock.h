/* SPDX-License-Identifier: MIT */
/*
 * rare_lock: a lock for tables that are changed now and then, by threads that can wait.
 *
 * Invariants
 *   RL-1 It says who holds it: a process and its thread. Signals are blocked meanwhile, so that no handler waits for what
 *        it interrupts, or leaves by siglongjmp.
 *   RL-2 It is taken over from a thread that is not there any more, as in a fork child, and from no other, however long
 *        that is kept from running. A thread may get the id of one who ended with it, and knows it is not the holder. What it guards is to be changed so that a half of it does no harm.
 * Threads: any; the fast path never takes one. Signals: safe.
 * Failure: not taken within RARE_LOCK_TIME_LIMIT_NS, or by who holds it already (where signals cannot be blocked).
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
    _Atomic uint64_t holder; /* process and thread; 0: nobody */
};

struct rare_hold {
    uint64_t holder;
    struct sys_signals mask;
    const struct rare_lock *before; /* that the thread held then, or NULL */
    bool is_blocked;
};

/* False: nothing is held, and nothing to be given up. */
MTRACE_NODISCARD bool rare_lock_take(struct rare_lock *lock, struct rare_hold *ret_hold);
void rare_lock_give_up(struct rare_lock *lock, const struct rare_hold *hold);

#endif
