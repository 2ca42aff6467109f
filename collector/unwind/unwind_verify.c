/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_verify.h"

#include "collector/unwind/unwind_step.h"

/* The outermost remembered frame still has no caller, or it is the last one wanted and has one. */
static bool ends_as_before(const struct unwind_state *state, enum unwind_step step)
{
    const struct unwind_record *record = state->record;

    if (!record->is_truncated)
        return step == STEP_END;
    return step == STEP_TRUNCATED
           || (step == STEP_CALLER && state->fresh.n_frames + record->n_frames >= state->n_wanted);
}

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
        return ends_as_before(state, step) ? VERDICT_WHOLE : VERDICT_DIFFERS;
    return step == STEP_CALLER && unwind_is_same_frame(outer, &caller) ? VERDICT_WHOLE
                                                                       : VERDICT_DIFFERS;
}

/* After a repeated step it is already right. */
void unwind_verify_find_fp(struct unwind_frame *frames, size_t first, size_t i)
{
    for (size_t k = first; k > i; k--) {
        const struct unwind_frame *frame = &frames[k];
        struct unwind_frame *outer = &frames[k - 1];
        if (frame->link == LINK_FP_KEPT)
            outer->fp = frame->fp;
        else if (frame->link > LINK_FULL)
            outer->fp = *(const uintptr_t *)unwind_at(outer->sp, frame->link);
    }
}
