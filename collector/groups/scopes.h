/* SPDX-License-Identifier: MIT */
/*
 * scopes: the groups that the calling thread has entered, innermost last.
 *
 * A stack of {outer group, serial number of the enter}. The current group is in struct thread; the
 * next event finds there that it changed. An exit returns to the depth of its own enter, and so
 * drops scopes above it that longjmp or an exception left open.
 *
 * Invariants
 *   SC-1 A scope ends once. Its owner is (thread number, serial number of the enter), which stands
 *        in the stack at its depth as long as the scope is open.
 *   SC-2 An enter takes its place before it fills it; an exit reads its place before it releases
 *        it. A signal handler in between leaves the stack as it was, if it ends the scopes that it
 *        begins.
 *   SC-3 Fork children inherit the stack. Scopes for which there is no memory change no group.
 *
 * Threads: each uses its own stack. Async-signal-safe. Failures are counted.
 */
#ifndef MTRACE_COLLECTOR_SCOPES_H
#define MTRACE_COLLECTOR_SCOPES_H

#include "include/mtrace.h"

#include <stdbool.h>

struct mtrace_scope scopes_enter(uint32_t group);

/* False: the scope is not open in this thread. */
bool scopes_exit(struct mtrace_scope scope);

uint32_t scopes_group(void);

/* Owner of the innermost scope; 0: there is none. */
uint64_t scopes_innermost(void);

/* New threads get the current group of their creator, outside of all their own scopes. */
void scopes_inherit(bool on);

/* The group for a thread that is created now. The new thread passes it to scopes_begin. */
uint32_t scopes_group_to_inherit(void);
void scopes_begin(uint32_t group);

#endif
