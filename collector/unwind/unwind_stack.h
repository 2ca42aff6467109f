/* SPDX-License-Identifier: MIT */
/*
 * unwind_stack: room on a stack for what needs more of it than the program can be asked for.
 *
 * Threads: each its own state. Signals: see unwind_stack.c. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_STACK_H
#define MTRACE_COLLECTOR_UNWIND_STACK_H

#include "collector/unwind/unwind_state.h"

/* Runs function(state) on the private stack, unless it is on it already. */
void unwind_stack_run(struct unwind_state *state, void (*function)(void *state));

#endif
