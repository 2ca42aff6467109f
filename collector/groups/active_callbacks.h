/* SPDX-License-Identifier: MIT */
/*
 * tellers: which threads are inside of a function of the program that is called on events, and of which.
 *
 * Model:   a place for each thread that tells, in tables that are never moved or given back. By one store a thread
 *          shows what it is about to enter, by one more that it is out; who wants to know looks at all places.
 * Invariants
 *   TE-1 Only the thread itself writes what it shows, one word, and nothing is counted: wherever a handler leaves by
 *        siglongjmp, its next store is right again.
 *   TE-2 What is shown is past where the thread does not exist any more, or what its frame returns to is no more
 *        on its stack: nothing but that return, or a jump beyond it, frees that word (thread.h has the proof). So it is
 *        where the thread waits in the kernel further out on the stack that the frame is on: who jumped out, and touched
 *        no stack since. Handlers that interrupt it stand below it, or on another stack.
 *   TE-3 The place of a thread that has ended is another thread's next, and then shows nothing.
 * Threads: any, without locks. Signals: safe. Failure: no place, NULL.
 */
#ifndef MTRACE_COLLECTOR_ACTIVE_CALLBACKS_H
#define MTRACE_COLLECTOR_ACTIVE_CALLBACKS_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct callback;

/* A place for the calling thread, to be kept. NULL: no memory. */
MTRACE_NODISCARD struct callback *active_callbacks_take(void);

/* The thread ends; it may take a place again. */
void active_callbacks_leave(struct callback *callback);

/* what: not 0. frame: with a frame pointer, of who enters it; stack_end: of the stack it is on, 0: that may have
 * other stacks in it. Either whoever then looks for it sees it, or the caller sees what they changed before. */
void active_callbacks_show(struct callback *callback, uint32_t what, uintptr_t frame,
                           uintptr_t stack_end);
void active_callbacks_show_nothing(struct callback *callback);

/* A thread, but that of `own` (or NULL), shows it. To be asked after a change that keeps others from entering it. */
MTRACE_NODISCARD bool active_callbacks_anyone_in(uint32_t what, const struct callback *own);

/* Where on the stack the function of that frame finds what it returns to; and TE-2 for such a place. */
uintptr_t active_callbacks_return_at(uintptr_t frame);
MTRACE_NODISCARD bool active_callbacks_is_overwritten(uintptr_t return_at, uintptr_t return_to);

/* In a fork child, where the other threads are not; own: of the calling one, or NULL. */
void active_callbacks_forget(struct callback *own);

#endif
