/* SPDX-License-Identifier: MIT */
/*
 * unwind_verify: what is remembered of a stack, proven frame by frame from the inside.
 *
 * Invariants
 *   UV-1 The words loaded for a frame follow from the frame inside it, which is proven already.
 *   UV-2 An fp that nothing outside depends on may change; it is taken over, not a difference.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_VERIFY_H
#define MTRACE_COLLECTOR_UNWIND_VERIFY_H

#include "collector/unwind/unwind_state.h"
#include "common/attr.h"

enum unwind_verdict {
    VERDICT_WHOLE,   /* every frame of the record is proven, or as many as are wanted */
    VERDICT_DIFFERS, /* the caller of the frame reached is another now */
    VERDICT_FULL,    /* a frame was reached that only the interpreter can step over */
};

static inline bool unwind_is_same_key(const struct unwind_frame *a, const struct unwind_frame *b)
{
    return a->pc == b->pc && !((a->flags ^ b->flags) & FRAME_EXACT);
}

/* The remembered frame is the one at hand; takes over an fp that nothing outside depends on. */
static inline bool unwind_is_same_frame(struct unwind_frame *remembered,
                                        const struct unwind_frame *now)
{
    if (remembered->sp != now->sp || !unwind_is_same_key(remembered, now))
        return false;
    if (remembered->fp != now->fp) {
        if (remembered->flags & FRAME_USES_FP)
            return false;
        remembered->fp = now->fp;
    }
    return true;
}

/* Steps again from a frame whose words are not two plain ones; compares with what is remembered.
 * outer NULL: frame is the outermost one remembered. */
enum unwind_verdict unwind_verify_step(struct unwind_state *state, struct unwind_frame *frame,
                                       struct unwind_frame *outer);

/* The outermost of the remembered frames that is wanted, beside the fresh ones inside frames[i]. */
static inline struct unwind_frame *unwind_verify_last(const struct unwind_state *state,
                                                      struct unwind_frame *frames, size_t i)
{
    size_t n_fresh = state->fresh.n_frames;
    size_t n_left = state->n_wanted > n_fresh ? state->n_wanted - n_fresh : 1;

    return mtrace_likely(i < n_left) ? frames : &frames[i + 1 - n_left];
}

/*
 * Proves frames[*i - 1] from frames[*i], which is proven, and so on outwards, as far as a limit on
 * depth wants it. The addresses loaded follow from the proven frame alone. Leaves in *i the
 * outermost frame that is proven.
 */
/* Whole, as it runs for each allocation. NOLINTNEXTLINE(readability-function-cognitive-complexity) */
static inline enum unwind_verdict unwind_verify(struct unwind_state *state,
                                                struct unwind_frame *frames, size_t *i)
{
    struct unwind_frame *frame = &frames[*i];
    struct unwind_frame *last = unwind_verify_last(state, frames, *i);
    enum unwind_verdict verdict = VERDICT_WHOLE;

    while (frame != last) {
        struct unwind_frame *outer = frame - 1;
        int16_t link = frame->link;
        if (mtrace_likely(link > LINK_FULL)) {
            uintptr_t cfa = outer->sp;
            const uintptr_t *fp_word = link != LINK_FP_KEPT
                                           ? (const uintptr_t *)(cfa + (uintptr_t)(intptr_t)link)
                                           : &frame->fp;
            verdict = VERDICT_DIFFERS;
            if (*(const uintptr_t *)(cfa + (uintptr_t)ARCH_RA_AT_CFA) != outer->pc)
                break;
            if (mtrace_unlikely(*fp_word != outer->fp)) {
                if (outer->flags & FRAME_USES_FP)
                    break;
                outer->fp = *fp_word;
            }
        } else if ((verdict = unwind_verify_step(state, frame, outer)) != VERDICT_WHOLE) {
            break;
        }
        frame = outer;
    }
    *i = (size_t)(frame - frames);
    if (frame != last)
        return verdict;
    if (mtrace_unlikely(frame != frames))
        return VERDICT_WHOLE;
    if (mtrace_likely(frame->flags & FRAME_OUTERMOST && frame->link == LINK_STEP))
        return VERDICT_WHOLE;
    return unwind_verify_step(state, frame, NULL);
}

#endif
