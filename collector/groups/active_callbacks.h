/* SPDX-License-Identifier: MIT */
/*
 * active_callbacks: which threads are running an event callback of the program, and which callback.
 *
 * Each thread that runs callbacks has a place in tables that are never moved or freed. One store
 * shows the callback that the thread is about to enter, another that it has returned. A thread that
 * removes a callback looks at all places.
 *
 * Invariants
 *   TE-1 Only the thread itself writes its place, one word at a time, and nothing is counted. So
 *        after a siglongjmp anywhere, its next store is correct again.
 *   TE-2 A shown callback is over if the thread no longer exists or its frame's return address was
 *        overwritten: only the return, or a jump past it, frees that word (thread.h). It is also
 *        over if the thread waits in the kernel further out on the same stack: it jumped out and
 *        has not touched the word since. Handlers that interrupt a callback run below it or on
 *        another stack.
 *   TE-3 The place of a thread that ended is reused by another thread, and shows nothing then.
 *
 * Threads: any, without locks. Async-signal-safe. NULL: no memory for a place.
 */
#ifndef MTRACE_COLLECTOR_ACTIVE_CALLBACKS_H
#define MTRACE_COLLECTOR_ACTIVE_CALLBACKS_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct callback;

/* A place for the calling thread, until active_callbacks_leave. NULL: no memory. */
MTRACE_NODISCARD struct callback *active_callbacks_take(void);

/* The thread ends. It may take a place again. */
void active_callbacks_leave(struct callback *callback);

/* Shows that the thread enters callback `what` (not 0). frame: of the caller, with a frame pointer.
 * stack_end: of its stack; 0: other stacks may lie within it. Either a later
 * active_callbacks_anyone_in sees this, or the caller sees the change made before that look. */
void active_callbacks_show(struct callback *callback, uint32_t what, uintptr_t frame,
                           uintptr_t stack_end);
void active_callbacks_show_nothing(struct callback *callback);

/* True if another thread than that of `own` (or NULL) runs callback `what`. Call it after a change
 * that keeps other threads from entering it. */
MTRACE_NODISCARD bool active_callbacks_anyone_in(uint32_t what, const struct callback *own);

/* The address of the return address of this frame; and the test of TE-2 for such an address. */
uintptr_t active_callbacks_return_at(uintptr_t frame);
MTRACE_NODISCARD bool active_callbacks_is_overwritten(uintptr_t return_at, uintptr_t return_to);

/* In a fork child, which has no other threads. own: of the calling thread, or NULL. */
void active_callbacks_forget(struct callback *own);

#endif
