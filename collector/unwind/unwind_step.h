/* SPDX-License-Identifier: MIT */
/*
 * unwind_step: steps from a frame to its caller, after proving that the stack words are readable.
 *
 * Invariants
 *   US-1 A word is loaded only from [walk.low, walk.high): the thread's stack above the segment's
 *        first stack pointer, or probed pages of another stack; or the word itself was probed.
 *   US-2 The caller's sp is above the frame's, except across a signal frame; those are counted. If
 *        the interrupted function has not saved its return address yet, sp is the same.
 *   US-3 On another stack a guess proves nothing: after one, [low, high) is empty, the page of each
 *        word is probed in the same walk, and no word is verified except by repeating the step.
 */
#ifndef MTRACE_COLLECTOR_UNWIND_STEP_H
#define MTRACE_COLLECTOR_UNWIND_STEP_H

#include "collector/unwind/unwind_cache.h"
#include "collector/unwind/unwind_state.h"
#include "lib/abi/attr.h"

enum unwind_step {
    STEP_CALLER,    /* *ret_caller is the caller */
    STEP_END,       /* the frame is the outermost */
    STEP_TRUNCATED, /* it has a caller that was not found */
    STEP_FULL,      /* the interpreter must walk the stack from its innermost frame */
};

/* The address is on the thread's own stack, beyond a hole: each word there is probed before it is
 * loaded. */
static inline bool unwind_is_cut_off(const struct unwind_state *state, uintptr_t address)
{
    return address >= state->memory->stack_high && address < state->stack_end;
}

/* Begins a segment at a stack pointer; false if nothing is readable there. */
bool unwind_enter_segment(struct unwind_state *state, uintptr_t sp);

/* Makes [address, address + 8) readable for the walk by probing pages; false if it is not. */
bool unwind_prove_slow(struct unwind_state *state, uintptr_t address);

/* Finds the rule of a frame that is not in the cache. */
struct unwind_rule unwind_step_rule_slow(struct unwind_state *state, uintptr_t address);

/* Everything found from here on depends on a guess. */
void unwind_step_distrust(struct unwind_state *state);

/* A step through code without CFI, by the frame pointer when it is plausible. */
enum unwind_step unwind_step_guess(struct unwind_state *state, struct unwind_frame *frame,
                                   struct unwind_frame *ret_caller);

/* A step through code without CFI, by a rule made from its instructions. */
enum unwind_step unwind_step_code(struct unwind_state *state, struct unwind_frame *frame,
                                  const struct unwind_rule *rule, struct unwind_frame *ret_caller);

/* Checks before and after such a step. False: the frame has no caller. */
bool unwind_step_begin_code(struct unwind_state *state, struct unwind_frame *frame);
enum unwind_step unwind_step_end_code(const struct unwind_state *state, struct unwind_frame *frame,
                                      enum unwind_step step, uintptr_t pc);

/* A step across a signal frame. */
enum unwind_step unwind_step_signal(struct unwind_state *state, struct unwind_frame *frame,
                                    const struct unwind_rule *rule,
                                    struct unwind_frame *ret_caller);

static inline bool unwind_load(struct unwind_state *state, uintptr_t address, uintptr_t *ret_word)
{
    struct unwind_walk *walk = &state->walk;

    if (mtrace_unlikely(address < walk->low || address >= walk->high
                        || walk->high - address < sizeof(uintptr_t))
        && !unwind_prove_slow(state, address))
        return false;
    *ret_word = *(const uintptr_t *)address;
    return true;
}

static inline uintptr_t unwind_lookup_address(const struct unwind_frame *frame)
{
    return frame->pc - !(frame->flags & FRAME_EXACT);
}

/* Stores what verification of the step needs, from the rule and the CFA it gave. */
static inline void unwind_set_link(struct unwind_frame *frame, const struct unwind_rule *rule)
{
    int32_t fp_place = unwind_rule_fp(rule);
    bool uses_fp = rule->kind != UNWIND_RULE_SP || rule->fp_kind == UNWIND_FP_AT_FP;

    frame->flags = (uint16_t)((frame->flags & FRAME_GIVEN) | (uses_fp ? FRAME_READS_FP : 0));
    if (!ARCH_HAS_FIXED_RA)
        frame->ra = (int16_t)unwind_rule_ra(rule);
    if (rule->kind > UNWIND_RULE_FP || rule->fp_kind == UNWIND_FP_AT_FP)
        frame->link = LINK_STEP;
    else if (rule->fp_kind == UNWIND_FP_KEPT)
        frame->link = LINK_FP_KEPT;
    else
        frame->link = fp_place > LINK_FULL && fp_place <= INT16_MAX && fp_place != LINK_FP_KEPT
                          ? (int16_t)fp_place
                          : (int16_t)LINK_STEP;
}

/* The step of an ordinary rule: SP, FP or DEREF. */
static inline enum unwind_step unwind_step_ordinary(struct unwind_state *state,
                                                    struct unwind_frame *frame,
                                                    const struct unwind_rule *rule,
                                                    struct unwind_frame *ret_caller)
{
    uintptr_t cfa =
        unwind_at(rule->kind == UNWIND_RULE_SP ? frame->sp : frame->fp, rule->cfa_offset);
    uintptr_t fp = frame->fp;

    unwind_set_link(frame, rule);
    if (rule->kind == UNWIND_RULE_DEREF && !unwind_load(state, cfa, &cfa))
        return STEP_TRUNCATED;
    if (cfa <= frame->sp
        || !unwind_load(state, unwind_at(cfa, unwind_rule_ra(rule)), &ret_caller->pc))
        return STEP_TRUNCATED;
    if (rule->fp_kind != UNWIND_FP_KEPT
        && !unwind_load(
            state, unwind_at(rule->fp_kind == UNWIND_FP_AT_CFA ? cfa : fp, unwind_rule_fp(rule)),
            &fp))
        return STEP_TRUNCATED;
    ret_caller->pc = arch_code_address(ret_caller->pc);
    ret_caller->sp = cfa;
    ret_caller->fp = fp;
    ret_caller->flags = 0;
    return ret_caller->pc != 0 ? STEP_CALLER : STEP_END;
}

/* Finds the caller of *frame by its rule; sets the frame's module, link and flags. */
static inline enum unwind_step unwind_step_compact(struct unwind_state *state,
                                                   struct unwind_frame *frame,
                                                   struct unwind_frame *ret_caller)
{
    struct unwind_rule rule;
    uintptr_t address = unwind_lookup_address(frame);

    if (mtrace_unlikely(!unwind_cache_find(address, state->epoch, &rule)))
        rule = unwind_step_rule_slow(state, address);
    frame->module = rule.module;
    if (!ARCH_RECORD_ENDS_FRAME && mtrace_unlikely(frame->flags & FRAME_LOW_SP)
        && rule.kind == UNWIND_RULE_SP)
        return unwind_step_guess(state, frame, ret_caller);
    if (mtrace_likely(rule.kind <= UNWIND_RULE_DEREF))
        return unwind_step_ordinary(state, frame, &rule, ret_caller);
    if (rule.kind == UNWIND_RULE_SIGNAL)
        return unwind_step_signal(state, frame, &rule, ret_caller);
    if (ARCH_HAS_CODE_FRAMES && rule.kind == UNWIND_RULE_CODE)
        return unwind_step_code(state, frame, &rule, ret_caller);
    if (rule.kind == UNWIND_RULE_GUESS)
        return unwind_step_guess(state, frame, ret_caller);
    frame->flags &= FRAME_GIVEN;
    frame->link = LINK_STEP;
    if (rule.kind == UNWIND_RULE_FULL)
        return STEP_FULL;
    frame->flags |= FRAME_OUTERMOST;
    return STEP_END;
}

#endif
