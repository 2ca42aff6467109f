/* SPDX-License-Identifier: MIT */
/*
 * unwind_stack: room on a stack for what needs more of it than the fast path.
 *
 * Invariants
 *   UK-1 A signal handler of the program never runs on a stack of ours.
 * Threads: each its own state. Signals: blocked while the stack pointer is on ours. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_STACK_H
#define MTRACE_COLLECTOR_UNWIND_STACK_H

#include "collector/unwind/unwind_state.h"

/* Runs function(state): on the program's stack where that has room enough, else on a private one. */
void unwind_stack_run(struct unwind_state *state, void (*function)(void *state));

#endif
