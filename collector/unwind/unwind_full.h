/* SPDX-License-Identifier: MIT */
/*
 * unwind_full: walks a stack with all callee-saved registers, by CFI rows and their expressions.
 *
 * The walk begins in our own capture function, whose registers are known, and follows CFI through
 * our own frames to the wrapper's caller. From there on it reports every frame. It is ten times
 * slower than compact rules and supports all of CFI.
 *
 * Threads and signals: as unwind_capture.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_FULL_H
#define MTRACE_COLLECTOR_UNWIND_FULL_H

#include "collector/unwind/unwind_state.h"

/*
 * Fills state->fresh with the whole stack of state->origin and sets state->walk.is_truncated.
 * state->registers must come from a calling function that has not returned.
 */
void unwind_full_walk(struct unwind_state *state);

#endif
