/* SPDX-License-Identifier: MIT */
/*
 * unwind_full: walks a stack with all callee-saved registers, by CFI rows and their expressions.
 *
 * Model:   begins in our own capture function, whose registers are known for certain, and follows
 *          CFI through our own frames to the wrapper's caller; from there every frame is reported.
 *          Slower than compact rules by an order of magnitude, and able to do everything CFI can
 * say. Threads, signals: as unwind_capture.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_FULL_H
#define MTRACE_COLLECTOR_UNWIND_FULL_H

#include "collector/unwind/unwind_state.h"

/*
 * Fills state->fresh with the whole stack of state->origin and sets state->walk.is_truncated.
 * state->registers were captured in a caller of this that has not returned.
 */
void unwind_full_walk(struct unwind_state *state);

#endif
