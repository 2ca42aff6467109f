/* SPDX-License-Identifier: MIT */
/*
 * scopes: the groups that the calling thread has entered, innermost last.
 *
 * Model:   a stack of {group outside, number of the enter}. The group of now is in the thread's
 *          record (thread.h), where the next event finds that it changed. An exit goes back to the
 *          depth of its own enter, whatever is left open above it: what longjmp and exceptions left.
 * Invariants
 *   SC-1 A scope is ended once: its owner is (number of the thread, number of the enter), which
 *        stands in the stack at its depth as long as it is open.
 *   SC-2 An enter takes its place before it fills it, an exit reads its place before it gives it
 *        back: a signal handler in between finds and leaves everything as it was, if it ends what
 *        it begins.
 *   SC-3 The stack stays in fork children. Scopes beyond the memory there is change no group.
 * Threads: each its own. Signals: safe. Failure: counted.
 */
#ifndef MTRACE_COLLECTOR_SCOPES_H
#define MTRACE_COLLECTOR_SCOPES_H

#include "include/mtrace.h"

#include <stdbool.h>

struct mtrace_scope scopes_enter(uint32_t group);

/* false: it is not open in this thread. */
bool scopes_exit(struct mtrace_scope scope);

uint32_t scopes_group(void);

/* Of the innermost scope; 0: none. */
uint64_t scopes_innermost(void);

/* Threads that begin from now on have their creator's group outside of all their scopes. */
void scopes_inherit(bool on);

/* What a thread that is made now begins with; it calls scopes_begin. */
uint32_t scopes_group_to_inherit(void);
void scopes_begin(uint32_t group);

#endif
