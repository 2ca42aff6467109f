/* SPDX-License-Identifier: MIT */
/*
 * allocator_guard: one event for one call, also if a calloc calls its own exported malloc.
 *
 * Guards stand between g_real and the functions of an allocator other than glibc's. While a guarded
 * call runs, heap calls of the thread are internal to the allocator and are not recorded. glibc's
 * allocator never calls itself by name and has no guards. The mappings of a guarded allocator are
 * recorded as usual: see allocator_guard_pause.
 *
 * Invariants
 *   RY-1 outer_guard is 0 outside of a guarded call. Inside it is not 0, and the guard of the
 *        thread (thread.h) is closed.
 *   RY-2 A guarded call that a signal handler left by longjmp ends with the next guarded call
 *        further out on the stack.
 *   RY-3 Events of the process are recorded inside a guarded call, too: windows, markers, phases,
 *        forks and ends. They come from a handler that interrupts the allocator, or from a command
 *        of the recorder that a call of the allocator finds.
 *
 * Threads: each uses its own state. A signal handler that allocates inside a guarded call is not
 * recorded; such allocators do not allow this anyway. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_ALLOCATOR_GUARD_H
#define MTRACE_COLLECTOR_ALLOCATOR_GUARD_H

#include "collector/os/real.h"
#include "collector/thread/thread.h"
#include "lib/abi/attr.h"

#include <stdbool.h>

/* For real_init: puts guards in front of the allocator's functions. */
void allocator_guard_guard(struct real *found);

/* Around any other function whose heap calls are not the program's own. allocator_guard_enter
 * returns false inside a guarded call; leave then does nothing. No exception may pass through. */
bool allocator_guard_enter(void);
void allocator_guard_leave(bool has_entered);

/* True inside a guarded call, where allocator_guard_enter would return false. */
MTRACE_COLD bool allocator_guard_is_inside_slow(void);

static inline bool allocator_guard_is_inside(void)
{
    return mtrace_unlikely(thread_is_muted(&g_thread)) && allocator_guard_is_inside_slow();
}

/* Around an operation of a guarded allocator that is recorded nevertheless. False: not inside a
 * guarded call. */
bool allocator_guard_pause(void);
void allocator_guard_resume(bool was_inside);

#endif
