/* SPDX-License-Identifier: MIT */
/*
 * unwind_stack: runs functions that need more stack than the fast path, on a private stack if
 * necessary.
 *
 *   UK-1 No signal handler of the program runs on a stack of ours.
 *
 * Each thread has its own state. Signals are blocked while the stack pointer is on our stack.
 * Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_STACK_H
#define MTRACE_COLLECTOR_UNWIND_STACK_H

#include "collector/unwind/unwind_state.h"

/* Runs function(state): on the program's stack if it has enough space, else on a private one. */
void unwind_stack_run(struct unwind_state *state, void (*function)(void *state));

#endif
