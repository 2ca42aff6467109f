/* SPDX-License-Identifier: MIT */
/*
 * reentry: one event for one call, also when the allocator's calloc calls its own exported malloc.
 *
 * Model:   between g_real and the functions of an allocator that is not glibc's stand guards: while
 *          one runs, heap calls of the thread are the allocator's own business and not recorded.
 *          Programs with glibc's allocator, which never calls itself by name, have no guards.
 *          What a guarded allocator maps is recorded as always: recursion_guard_pause.
 * Invariants
 *   RY-1 Outside of a guard outer_guard is 0; inside, the gate is closed and outer_guard is not 0.
 *   RY-2 A guard that a signal handler left by longjmp ends with the next guarded call further out
 *        on the stack.
 *   RY-3 What is no heap call is recorded inside of a guard, too: windows, markers, phases, forks and ends are the process', be it a handler
 *        that interrupts the allocator, or a call of the allocator's own that finds an order.
 * Threads: each its own. Signals: a handler that allocates inside a guarded call (which such
 * allocators do not allow) is not recorded. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_RECURSION_GUARD_H
#define MTRACE_COLLECTOR_RECURSION_GUARD_H

#include "collector/os/real.h"
#include "collector/thread/thread.h"
#include "lib/abi/attr.h"

#include <stdbool.h>

/* For real_init: puts guards in the place of the allocator's functions. */
void recursion_guard_guard(struct real *found);

/* Around any other function whose heap calls are not the program's own. enter: false: inside
 * already, leave then does nothing. Nothing may unwind through. */
bool recursion_guard_enter(void);
void recursion_guard_leave(bool has_entered);

/* The caller runs below such: recursion_guard_enter would answer false. */
MTRACE_COLD bool recursion_guard_is_inside_slow(void);

static inline bool recursion_guard_is_inside(void)
{
    return mtrace_unlikely(thread_is_muted(&g_thread)) && recursion_guard_is_inside_slow();
}

/* Around what a guarded allocator does that is to be recorded; false: not inside a guard. */
bool recursion_guard_pause(void);
void recursion_guard_resume(bool was_inside);

#endif
