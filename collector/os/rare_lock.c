/* SPDX-License-Identifier: MIT */
#include "collector/os/rare_lock.h"

#include "collector/os/sys.h"

#include <errno.h>

enum {
    NAP_NS = 50000,
    PROCESS_SHIFT = 32
};

/* The lock that this thread holds or is about to take. A new thread that got the id of a dead
 * holder has NULL here, so it knows that it is not the holder. */
static _Thread_local const struct rare_lock *g_held __attribute__((tls_model("initial-exec")));

static uint64_t this_process(void)
{
    return (uint64_t)sys_getpid() << PROCESS_SHIFT;
}

/* RL-2 */
static bool is_dead(uint64_t holder)
{
    return (holder ^ this_process()) >> PROCESS_SHIFT != 0
           || sys_thread_exists((long)(uint32_t)holder) == -ESRCH;
}

static bool take(struct rare_lock *lock, uint64_t own, const struct rare_lock *before)
{
    for (uint64_t naps = 0; naps < RARE_LOCK_TIME_LIMIT_NS / NAP_NS; naps++) {
        uint64_t holder = atomic_load_explicit(&lock->holder, memory_order_relaxed);
        if (holder == own && before == lock)
            return false;
        if ((holder == 0 || holder == own || is_dead(holder))
            && atomic_compare_exchange_strong_explicit(&lock->holder, &holder, own,
                                                       memory_order_acquire, memory_order_relaxed))
            return true;
        sys_nap(NAP_NS);
    }
    return false;
}

bool rare_lock_take(struct rare_lock *lock, struct rare_hold *ret_hold)
{
    ret_hold->is_blocked = sys_block_signals(&ret_hold->mask) >= 0;
    ret_hold->holder = this_process() | (uint32_t)sys_gettid();
    ret_hold->before = g_held;
    g_held = lock;
    atomic_signal_fence(memory_order_seq_cst);
    if (take(lock, ret_hold->holder, ret_hold->before))
        return true;
    g_held = ret_hold->before;
    if (ret_hold->is_blocked)
        sys_unblock_signals(ret_hold->mask);
    return false;
}

void rare_lock_give_up(struct rare_lock *lock, const struct rare_hold *hold)
{
    uint64_t own = hold->holder;

    (void)atomic_compare_exchange_strong_explicit(&lock->holder, &own, 0, memory_order_release,
                                                  memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    g_held = hold->before;
    if (hold->is_blocked)
        sys_unblock_signals(hold->mask);
}
