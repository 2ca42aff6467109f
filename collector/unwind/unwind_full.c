/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_full.h"

#include "collector/unwind/cfi_expression.h"
#include "collector/unwind/unwind_step.h"

enum {
    MAX_OWN_FRAMES = 32 /* between the capture function and the wrapper's caller */
};

static bool load(void *loader, uintptr_t address, uintptr_t *ret_word)
{
    return unwind_load(loader, address, ret_word);
}

static bool evaluate(struct unwind_state *state, const struct cfi_rule *rule,
                     const uintptr_t *initial, uintptr_t *ret_value)
{
    struct cfi_context context = {&state->registers, load, state};

    return cfi_expression_evaluate(&context, rule->expression, rule->n, initial, ret_value);
}

static bool get_register(const struct arch_registers *registers, uint32_t number,
                         uintptr_t *ret_value)
{
    if (number >= ARCH_N_REGISTERS || !(registers->known >> number & 1))
        return false;
    *ret_value = registers->value[number];
    return true;
}

static bool find_cfa(struct unwind_state *state, const struct cfi_row *row, uintptr_t *ret_cfa)
{
    if (row->cfa.kind == CFI_IS_EXPRESSION)
        return evaluate(state, &row->cfa, NULL, ret_cfa);
    if (!get_register(&state->registers, row->cfa.n, ret_cfa))
        return false;
    *ret_cfa += (uintptr_t)row->cfa.offset;
    return true;
}

/* The caller's value of a register; false if it is lost. */
static bool find_register(struct unwind_state *state, const struct cfi_rule *rule, uint32_t number,
                          uintptr_t cfa, uintptr_t *ret_value)
{
    switch (rule->kind) {
    case CFI_AT_CFA:
        return unwind_load(state, cfa + (uintptr_t)rule->offset, ret_value);
    case CFI_IS_CFA:
        *ret_value = cfa + (uintptr_t)rule->offset;
        return true;
    case CFI_IN_REGISTER:
        return get_register(&state->registers, rule->n, ret_value);
    case CFI_AT_EXPRESSION:
        return evaluate(state, rule, &cfa, ret_value) && unwind_load(state, *ret_value, ret_value);
    case CFI_IS_EXPRESSION:
        return evaluate(state, rule, &cfa, ret_value);
    case CFI_UNSPECIFIED:
        return (ARCH_CALLEE_SAVED >> number & 1)
               && get_register(&state->registers, number, ret_value);
    case CFI_SAME:
        return get_register(&state->registers, number, ret_value);
    default:
        return false;
    }
}

static bool find_registers(struct unwind_state *state, const struct cfi_row *row, uintptr_t cfa,
                           struct arch_registers *ret_registers)
{
    const bool has_called = !row->is_signal_frame;

    ret_registers->known = 0;
    for (uint32_t number = 0; number < ARCH_N_REGISTERS; number++)
        if (find_register(state, &row->registers[number], number, cfa,
                          &ret_registers->value[number]))
            ret_registers->known |= ARCH_BIT(number);
    if (row->registers[ARCH_SP].kind == CFI_UNSPECIFIED) {
        ret_registers->value[ARCH_SP] = cfa;
        ret_registers->known |= ARCH_BIT(ARCH_SP);
    }
    if (!find_register(state, &row->registers[row->return_column], row->return_column, cfa,
                       &ret_registers->value[ARCH_RA]))
        return false;
    ret_registers->value[ARCH_RA] = arch_code_address(ret_registers->value[ARCH_RA]);
    ret_registers->known |= ARCH_BIT(ARCH_RA);
    if (has_called)
        ret_registers->known &= ~ARCH_LINK_REGISTERS;
    return (ret_registers->known >> ARCH_SP & 1) != 0;
}

/* Registers of the caller of a frame with a row; the frame is that of state->registers. */
static enum unwind_step step_row(struct unwind_state *state, struct unwind_frame *frame)
{
    struct unwind_walk *walk = &state->walk;
    const struct cfi_row *row = &state->scratch.row;
    struct arch_registers caller;
    /* An interrupted function may have its return address in a register, and no frame. */
    uintptr_t low = frame->sp + (ARCH_HAS_FIXED_RA || !(frame->flags & FRAME_EXACT));
    uintptr_t cfa;

    if (row->registers[row->return_column].kind == CFI_UNDEFINED) {
        frame->flags |= FRAME_OUTERMOST;
        return STEP_END;
    }
    if (!find_cfa(state, row, &cfa) || (!row->is_signal_frame && cfa < low)
        || !find_registers(state, row, cfa, &caller))
        return STEP_TRUNCATED;
    if (row->is_signal_frame) {
        if (walk->n_jumps == UNWIND_MAX_JUMPS)
            return STEP_TRUNCATED;
        if (walk->n_jumps++ == 0)
            walk->first_segment_sp = frame->sp;
        if (!unwind_enter_segment(state, caller.value[ARCH_SP]))
            return STEP_TRUNCATED;
    } else if (caller.value[ARCH_SP] < low) {
        return STEP_TRUNCATED;
    }
    state->registers = caller;
    return caller.value[ARCH_RA] != 0 ? STEP_CALLER : STEP_END;
}

static enum unwind_step step_guess(struct unwind_state *state, struct unwind_frame *frame)
{
    struct unwind_frame caller;
    enum unwind_step step;

    if (!get_register(&state->registers, ARCH_FP, &frame->fp))
        frame->fp = 1; /* not plausible */
    step = unwind_step_guess(state, frame, &caller);
    if (step == STEP_CALLER) {
        state->registers.value[ARCH_FP] = caller.fp;
        state->registers.value[ARCH_SP] = caller.sp;
        state->registers.value[ARCH_RA] = caller.pc;
        state->registers.known = ARCH_BIT(ARCH_FP) | ARCH_BIT(ARCH_RA);
        if (!(caller.flags & FRAME_LOW_SP))
            state->registers.known |= ARCH_BIT(ARCH_SP);
    }
    return step;
}

/* What verification may rely on: the words of this step, or only a full walk. */
static void set_link(struct unwind_frame *frame, const struct unwind_rule *rule)
{
    const struct unwind_rule said = unwind_rule_of_code(rule);

    if (rule->kind <= UNWIND_RULE_DEREF) {
        unwind_set_link(frame, rule);
    } else if (rule->kind == UNWIND_RULE_CODE) {
        unwind_set_link(frame, &said);
    } else {
        frame->flags &= FRAME_GIVEN;
        frame->link = rule->kind == UNWIND_RULE_FULL ? LINK_FULL : LINK_STEP;
    }
}

/* Like unwind_step_code, with all registers. */
static enum unwind_step step_code(struct unwind_state *state, struct unwind_frame *frame)
{
    enum unwind_step result;

    if (!unwind_step_begin_code(state, frame))
        return STEP_END;
    result = step_row(state, frame);
    return unwind_step_end_code(state, frame, result, state->registers.value[ARCH_RA]);
}

static bool begins_at_sp(const struct cfi_row *row)
{
    return row->cfa.kind == CFI_IN_REGISTER && row->cfa.n == ARCH_SP;
}

/* Steps from the frame of state->registers to its caller; fills the frame's link and flags. */
static enum unwind_step step(struct unwind_state *state, struct unwind_frame *frame,
                             bool *ret_is_signal_frame)
{
    struct unwind_rule rule;
    uint32_t module;
    bool is_found;

    *ret_is_signal_frame = false;
    is_found = unwind_cfi_find_row(unwind_lookup_address(frame), state->epoch,
                                   state->walk.is_trusted, &state->scratch, &module)
               == CFI_FOUND;
    frame->module = module;
    if (!is_found || (frame->flags & FRAME_LOW_SP && begins_at_sp(&state->scratch.row)))
        return step_guess(state, frame);
    rule = unwind_rule_of_row(&state->scratch.row, module);
    set_link(frame, &rule);
    if (ARCH_HAS_EXIDX && state->scratch.row.is_guess) {
        frame->flags |= FRAME_GUESSED;
        unwind_step_distrust(state);
    }
    *ret_is_signal_frame = state->scratch.row.is_signal_frame;
    if (state->scratch.row.is_from_code)
        return step_code(state, frame);
    return step_row(state, frame);
}

static struct unwind_frame frame_of_registers(const struct unwind_state *state, bool is_exact)
{
    const struct arch_registers *registers = &state->registers;
    struct unwind_frame frame = {.pc = registers->value[ARCH_RA],
                                 .sp = registers->value[ARCH_SP],
                                 .fp = registers->value[ARCH_FP],
                                 .flags = is_exact ? FRAME_EXACT : 0};

    if (!(registers->known >> ARCH_FP & 1))
        frame.fp = 0;
    if (!(registers->known >> ARCH_SP & 1))
        frame.flags |= FRAME_LOW_SP;
    return frame;
}

/* Through our own frames, to the registers of the wrapper's caller. */
static bool skip_own_frames(struct unwind_state *state)
{
    bool is_exact = !ARCH_HAS_EXIDX; /* the first pc is where the registers were captured */
    bool is_signal_frame;

    for (unsigned n = 0; n < MAX_OWN_FRAMES; n++) {
        struct unwind_frame frame = frame_of_registers(state, is_exact);
        if (frame.pc == state->origin.pc && frame.sp == state->origin.cfa)
            return true;
        if (step(state, &frame, &is_signal_frame) != STEP_CALLER || frame.flags & FRAME_GUESSED)
            return false;
        is_exact = false;
    }
    return false;
}

/* If that fails, only what the wrapper passed is known. */
static void begin_at_origin(struct unwind_state *state)
{
    struct arch_registers *registers = &state->registers;

    registers->value[ARCH_RA] = state->origin.pc;
    registers->value[ARCH_SP] = state->origin.cfa;
    registers->value[ARCH_FP] = state->origin.fp;
    registers->known = ARCH_BIT(ARCH_FP) | ARCH_BIT(ARCH_SP) | ARCH_BIT(ARCH_RA);
}

void unwind_full_walk(struct unwind_state *state)
{
    struct unwind_walk *walk = &state->walk;
    bool is_exact = false;
    enum unwind_step result;

    walk->is_trusted = true;
    walk->has_gap = false;
    walk->n_jumps = 0;
    unwind_enter_segment(state, state->registers.value[ARCH_SP]);
    if (!skip_own_frames(state))
        begin_at_origin(state);
    walk->is_trusted = true;
    unwind_enter_segment(state, state->origin.cfa);
    state->fresh.n_frames = 0;
    do {
        struct unwind_frame frame = frame_of_registers(state, is_exact);
        result = step(state, &frame, &is_exact);
        if (!unwind_fresh_push(&state->fresh, &frame))
            result = STEP_TRUNCATED;
    } while (result == STEP_CALLER && state->fresh.n_frames < state->n_wanted);
    walk->is_truncated = result != STEP_END;
}
