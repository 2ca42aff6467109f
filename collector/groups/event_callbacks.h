/* SPDX-License-Identifier: MIT */
/*
 * event_callbacks: functions of the program that are called on each event of its heap.
 *
 * There are N_SLOTS slots. record.c calls the functions after it wrote the event and opened the
 * recursion guard: for an allocation before the program gets the block, for a free before the
 * allocator gets it back. live_block_index.h keeps what the functions need to know of a block that
 * is freed. It is filled from the first callback on and stays when the last one is removed.
 *
 * Invariants
 *   TK-1 While a thread runs callbacks, its own events are not passed to callbacks, be they from
 *        the functions or from signal handlers. What it allocates then is charged to no group and
 *        is not indexed, so its free is not reported either. The free of an indexed block is
 *        counted.
 *   TK-2 The free of a block, or its move to another group, is reported or counted if and only if
 *        its allocation was reported. The free of a moved block carries the group of its last move.
 *   TK-3 When event_callbacks_remove returns 0, no thread runs the function and none will: a thread
 *        shows the function (active_callbacks.h) before it checks that the slot still has it.
 *        Inside a callback it does not wait, since the other thread might wait for the caller, but
 *        returns EBUSY if another thread still runs the function. The slot stays taken as long as
 *        one does. Another call of it from outside then waits.
 *   TK-4 A callback that was left by longjmp counts as returned at the next event of its thread
 *        further out on the stack. On a stack other than the thread's own, the return address must
 *        have been overwritten. It also counts as returned when the thread waits in the kernel
 *        further out on its own stack (TE-2), or ends. A thread that does none of these is waited
 *        for.
 *
 * Threads: any, without locks; event_callbacks_remove waits. Async-signal-safe, except
 * event_callbacks_remove. Failures are counted.
 */
#ifndef MTRACE_COLLECTOR_EVENT_CALLBACKS_H
#define MTRACE_COLLECTOR_EVENT_CALLBACKS_H

#include "collector/sampling/live_block_index.h"
#include "collector/unwind/unwind.h"
#include "include/mtrace.h"

#include <stdbool.h>
#include <stdint.h>

typedef void event_callbacks_callback(const struct mtrace_event *event, void *user);

/* Returns the handle; 0: all N_SLOTS are taken, or no memory for the index of live blocks. */
int event_callbacks_add(event_callbacks_callback *callback, void *user, unsigned kinds);

/* Removes a callback, for a call of the program at `origin`. 0: no other thread runs the function,
 * and none will. EBUSY: another thread does, and the caller is inside a callback or does not want
 * to wait. ENOENT: there is no such callback. */
int event_callbacks_remove(int handle, bool waits, const struct unwind_origin *origin);

/* True inside a callback. Call it before an event of a call at `origin` is written; it ends
 * callbacks that were left by longjmp (TK-4). */
bool event_callbacks_is_running(const struct unwind_origin *origin);

/* Run the callbacks. The event is in the log already. */
void event_callbacks_emit_alloc(const void *block, const struct known_block *fresh);
void event_callbacks_emit_free(const void *block, uint32_t node);
/* place: what was known of the old block before the call, held. Released here. */
void event_callbacks_emit_resize(const void *old_block, struct known_place *place,
                                 const void *block, const struct known_block *fresh);
/* The same if the new block is not indexed. */
void event_callbacks_emit_ended(const void *block, struct known_place *place, uint32_t node);
/* The block is charged to this group from now on. */
void event_callbacks_emit_move(const void *block, uint32_t group);

/* Update the index for events that no callback gets. */
void event_callbacks_pass_ended(struct known_place *place);
void event_callbacks_pass_free(const void *block);
void event_callbacks_pass_resize(struct known_place *place, const void *block,
                                 const struct known_block *fresh); /* place: or NULL */
void event_callbacks_pass_move(const void *block, uint32_t group);

/* In a fork child, which has no other threads. */
void event_callbacks_forget(void);

/* Number of frees and moves of indexed blocks that were not reported. */
uint64_t event_callbacks_count_unreported(void);

#endif
