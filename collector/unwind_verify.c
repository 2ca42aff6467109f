/* SPDX-License-Identifier: MIT */
#include "collector/unwind_verify.h"

#include "collector/unwind_step.h"

enum unwind_verdict unwind_verify_step(struct unwind_state *state, struct unwind_frame *frame,
                                       struct unwind_frame *outer)
{
    struct unwind_walk *walk = &state->walk;
    struct unwind_frame again;
    struct unwind_frame caller;
    enum unwind_step step;

    if (frame->link == LINK_FULL)
        return VERDICT_FULL;
    if (frame->sp < walk->low || frame->sp >= walk->high)
        unwind_enter_segment(state, frame->sp);
    again = *frame;
    step = unwind_step_compact(state, &again, &caller);
    if (step == STEP_FULL)
        return VERDICT_FULL;
    if (outer == NULL)
        return step == (state->record->is_truncated ? STEP_TRUNCATED : STEP_END) ? VERDICT_WHOLE
                                                                                 : VERDICT_DIFFERS;
    return step == STEP_CALLER && unwind_is_same_frame(outer, &caller) ? VERDICT_WHOLE
                                                                       : VERDICT_DIFFERS;
}
