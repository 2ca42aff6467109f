/* SPDX-License-Identifier: MIT */
/*
 * unwind_verify: verifies a remembered stack frame by frame, from the inside outwards.
 *
 * Invariants
 *   UV-1 The words loaded for a frame follow from the frame inside it, which is verified already.
 *   UV-2 An fp that no outer frame depends on is neither loaded nor compared (UF-4). When the walk
 *        continues from a verified frame, its fp is found first.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_VERIFY_H
#define MTRACE_COLLECTOR_UNWIND_VERIFY_H

#include "collector/unwind/unwind_state.h"
#include "lib/abi/attr.h"

enum unwind_verdict {
    VERDICT_WHOLE,   /* all frames of the record are verified, or as many as wanted */
    VERDICT_DIFFERS, /* the frame reached has another caller now */
    VERDICT_FULL,    /* only the interpreter can step over the frame reached */
};

static inline bool unwind_is_same_key(const struct unwind_frame *a, const struct unwind_frame *b)
{
    return a->pc == b->pc && !((a->flags ^ b->flags) & FRAME_EXACT);
}

/* The remembered frame equals the current one; copies an fp that nothing depends on. */
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

/* Repeats the step of a frame whose words are not two plain ones and compares the result. outer
 * NULL: frame is the outermost remembered one. */
enum unwind_verdict unwind_verify_step(struct unwind_state *state, struct unwind_frame *frame,
                                       struct unwind_frame *outer);

/* Verifies a frame's caller, by its words or its step. */
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

/* The last of words[1] to words[n - 1] that differs from memory; 0: none. */
MTRACE_INLINE size_t unwind_verify_words(const struct unwind_word *words, size_t n)
{
    const struct unwind_word *word = &words[n - 1];

#pragma GCC unroll 4
    while (*word->at == word->value)
        word--;
    return (size_t)(word - words);
}

/* Finds the fp of frames[i], verified from frames[first], whose fp is right (UF-4). */
void unwind_verify_find_fp(struct unwind_frame *frames, size_t first, size_t i);

/* The outermost remembered frame that is wanted, besides the fresh ones inside frames[i]. */
static inline struct unwind_frame *unwind_verify_last(const struct unwind_state *state,
                                                      struct unwind_frame *frames, size_t i)
{
    size_t n_fresh = state->fresh.n_frames;
    size_t n_left = state->n_wanted > n_fresh ? state->n_wanted - n_fresh : 1;

    return mtrace_likely(i < n_left) ? frames : &frames[i + 1 - n_left];
}

/*
 * Verifies frames[*i - 1] from the verified frames[*i], and so on outwards, as far as a depth limit
 * requires. The addresses loaded follow from verified frames only. Sets *i to the outermost
 * verified frame.
 */
/* In one piece, because it runs for each allocation.
 * NOLINTNEXTLINE(readability-function-cognitive-complexity) */
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
