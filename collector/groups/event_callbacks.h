/* SPDX-License-Identifier: MIT */
/*
 * trackers: functions of the program that are called on each event of its heap.
 *
 * Model:   N_SLOTS places for a function. Events that were written into the log are told afterwards, the
 *          gate open again, by record.c: that of an allocation before the program has the block, that of
 *          a free before the allocator has it back. What the functions need to know of a block that
 *          ends is in live_block_index.h from the first tracker on, and stays there when the last is gone.
 * Invariants
 *   TK-1 While a thread tells, its own events are passed over: its calls from inside the functions, and
 *        from signal handlers. What it allocates is charged to nobody and is not known, so that its
 *        end is not told either. The end of a known block is counted.
 *   TK-2 The end of a block is told if and only if its beginning was, or it is counted. So is a move to another group;
 *        the end of a moved block is told of the group that the last move gave it.
 *   TK-3 event_callbacks_remove returns when no thread runs the function, and none will: who tells shows it
 *        before it looks whether the place still has its function (active_callbacks.h). From inside of any function
 *        it never waits, as what it waited for might wait for the caller, but says whether another thread
 *        still runs it: the place stays taken as long as somebody does, and who removes it once more, from outside, waits.
 *   TK-4 A function that is left by longjmp counts as returned at the next event of its thread further out on
 *        its stack; on another stack than its own, when what our frame there returns to is overwritten; when the thread
 *        waits in the kernel further out on its own stack (TE-2); by its end, then. Who does none of these, as it runs
 *        for ever and calls nothing, is waited for.
 * Threads: any, without locks; remove waits. Signals: safe, but remove. Failure: counted.
 */
#ifndef MTRACE_COLLECTOR_EVENT_CALLBACKS_H
#define MTRACE_COLLECTOR_EVENT_CALLBACKS_H

#include "collector/sampling/live_block_index.h"
#include "collector/unwind/unwind.h"
#include "include/mtrace.h"

#include <stdbool.h>
#include <stdint.h>

typedef void event_callbacks_callback(const struct mtrace_event *event, void *user);

/* The handle, or 0: there are N_SLOTS already, or no memory for known blocks. */
int event_callbacks_add(event_callbacks_callback *callback, void *user, unsigned kinds);

/* Of a call by the program from there. 0: no other thread runs the function, and none will. EBUSY: one still does, and
 * the caller is inside of a function, or does not want to wait. ENOENT: there is no such tracker (any more). */
int event_callbacks_remove(int handle, bool waits, const struct unwind_origin *origin);

/* Asked before an event is written, of a call by the program from there; see above. */
bool event_callbacks_is_telling(const struct unwind_origin *origin);

/* The event is in the log. */
void event_callbacks_emit_alloc(const void *block, const struct known_block *fresh);
void event_callbacks_emit_free(const void *block, uint32_t node);
/* place: of what the old block was known as until the call, held; it is let go. */
void event_callbacks_emit_resize(const void *old_block, struct known_place *place,
                                 const void *block, const struct known_block *fresh);
/* The same where the block that it became is not known. */
void event_callbacks_emit_ended(const void *block, struct known_place *place, uint32_t node);
/* The block is charged to this group from now on. */
void event_callbacks_emit_move(const void *block, uint32_t group);

/* The same for events that are not told. */
void event_callbacks_pass_ended(struct known_place *place);
void event_callbacks_pass_free(const void *block);
void event_callbacks_pass_resize(struct known_place *place, const void *block,
                                 const struct known_block *fresh); /* place: or NULL */
void event_callbacks_pass_move(const void *block, uint32_t group);

/* In a fork child, where the other threads are not. */
void event_callbacks_forget(void);

/* Ends and moves of known blocks that were not told. */
uint64_t event_callbacks_count_unreported(void);

#endif
