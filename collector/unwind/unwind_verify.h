/* SPDX-License-Identifier: MIT */
/*
 * unwind_verify: what is remembered of a stack, proven frame by frame from the inside.
 *
 * Invariants
 *   UV-1 The words loaded for a frame follow from the frame inside it, which is proven already.
 *   UV-2 An fp that nothing outside depends on is neither loaded nor compared (UF-4); when the walk
 *        goes on from a proven frame, its fp is found first.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_VERIFY_H
#define MTRACE_COLLECTOR_UNWIND_VERIFY_H

#include "collector/unwind/unwind_state.h"
#include "lib/abi/attr.h"

enum unwind_verdict {
    VERDICT_WHOLE,   /* every frame of the record is proven, or as many as are wanted */
    VERDICT_DIFFERS, /* the caller of the frame reached is another now */
    VERDICT_FULL,    /* a frame was reached that only the interpreter can step over */
};

static inline bool unwind_is_same_key(const struct unwind_frame *a, const struct unwind_frame *b)
{
    return a->pc == b->pc && !((a->flags ^ b->flags) & FRAME_EXACT);
}

/* The remembered frame is the one at hand; takes over an fp that nothing depends on. */
static inline bool unwind_is_same_frame(struct unwind_frame *remembered,
                                        const struct unwind_frame *now)
{
    if (remembered->sp != now->sp || !unwind_is_same_key(remembered, now))
        return false;
    if (remembered->fp != now->fp) {
        if (remembered->flags & FRAME_READS_FP)
            return false;
        remembered->fp = now->fp;
    }
    return true;
}

/* Steps again from a frame whose words are not two plain ones; compares with what is remembered.
 * outer NULL: frame is the outermost one remembered. */
enum unwind_verdict unwind_verify_step(struct unwind_state *state, struct unwind_frame *frame,
                                       struct unwind_frame *outer);

/* One frame's caller, from its words or its step. */
static inline enum unwind_verdict unwind_verify_frame(struct unwind_state *state,
                                                      struct unwind_frame *frame,
                                                      struct unwind_frame *outer)
{
    uintptr_t cfa = outer->sp;
    int16_t link = frame->link;

    if (mtrace_unlikely(link <= LINK_FULL))
        return unwind_verify_step(state, frame, outer);
    if (arch_code_address(*(const uintptr_t *)(cfa + unwind_frame_ra(frame))) != outer->pc)
        return VERDICT_DIFFERS;
    if (link != LINK_FP_KEPT && outer->flags & FRAME_READS_FP
        && *(const uintptr_t *)unwind_at(cfa, link) != outer->fp)
        return VERDICT_DIFFERS;
    return VERDICT_WHOLE;
}

/* Of words[1] to words[n - 1] the last one that differs from what is there now; 0: none does. */
MTRACE_INLINE size_t unwind_verify_words(const struct unwind_word *words, size_t n)
{
    const struct unwind_word *word = &words[n - 1];

#pragma GCC unroll 4
    while (*word->at == word->value)
        word--;
    return (size_t)(word - words);
}

/* The fp of frames[i], which is proven from frames[first], whose fp is right (UF-4). */
void unwind_verify_find_fp(struct unwind_frame *frames, size_t first, size_t i);

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
MTRACE_INLINE enum unwind_verdict unwind_verify(struct unwind_state *state,
                                                struct unwind_frame *frames, size_t *i)
{
    struct unwind_frame *frame = &frames[*i];
    struct unwind_frame *last = unwind_verify_last(state, frames, *i);
    enum unwind_verdict verdict = VERDICT_WHOLE;

    while (frame != last) {
        if (mtrace_likely(frame->n_words != 0 && last == frames)) {
            size_t differs = unwind_verify_words(state->record->words, frame->n_words);
            if (mtrace_likely(differs == 0)) {
                frame = frames;
                break;
            }
            verdict = VERDICT_DIFFERS;
            while ((frame - 1)->n_words > differs)
                frame--;
            break;
        }
        verdict = unwind_verify_frame(state, frame, frame - 1);
        if (verdict != VERDICT_WHOLE)
            break;
        frame--;
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
