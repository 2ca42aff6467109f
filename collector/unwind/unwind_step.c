/* SPDX-License-Identifier: MIT */
#include "collector/unwind/unwind_step.h"

#include "collector/arch/arch.h"
#include "collector/log/modules.h"
#include "collector/os/sys.h"
#include "collector/unwind/own_stacks.h"
#include "collector/unwind/unwind_code.h"
#include "collector/unwind/unwind_state.h"

enum {
    MAX_PROBED_PAGES = 4096, /* per probe; a foreign stack beyond 16 MiB is cut */

    LOWEST_CODE = 4096,
};

extern void *__libc_stack_end; /* of ld.so: the stack pointer at the program's entry */

static uintptr_t page_end(uintptr_t address)
{
    return (address | (ARCH_PAGE_BYTES - 1)) + 1;
}

static bool is_readable(uintptr_t address)
{
    return !own_stacks_is_pending(address) && sys_is_readable(address);
}

/* Most words lie on the page of the word before. */
static bool is_word_readable(struct unwind_walk *walk, uintptr_t address)
{
    if (address - walk->proven_page <= ARCH_PAGE_BYTES - sizeof(address))
        return true;
    if (!is_readable(address & ~(8 - sizeof(address)))) /* probes 8 bytes */
        return false;
    walk->proven_page = address & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);
    return true;
}

bool unwind_enter_segment(struct unwind_state *state, uintptr_t sp)
{
    const struct unwind_memory *memory = state->memory;
    struct unwind_walk *walk = &state->walk;

    walk->low = sp;
    walk->is_own_stack = sp >= memory->stack_low && sp < memory->stack_high;
    if (walk->is_own_stack) {
        walk->high = memory->stack_high;
        return true;
    }
    if (!is_word_readable(walk, sp & ~(uintptr_t)(sizeof(uintptr_t) - 1))) {
        walk->high = sp;
        return false;
    }
    walk->high = walk->is_trusted && !unwind_is_cut_off(state, sp) ? page_end(sp) : sp; /* US-3 */
    return true;
}

/* Only this word, whatever lies between it and the stack pointer. */
static bool prove_word(struct unwind_walk *walk, uintptr_t address)
{
    walk->has_gap = true;
    return is_word_readable(walk, address);
}

bool unwind_prove_slow(struct unwind_state *state, uintptr_t address)
{
    struct unwind_walk *walk = &state->walk;
    const uintptr_t last = address + sizeof(uintptr_t) - 1;
    const bool is_cut_off = unwind_is_cut_off(state, address);

    if (address < walk->low || last < address || (walk->is_own_stack && !is_cut_off))
        return false;
    if (!walk->is_trusted || is_cut_off)
        return prove_word(walk, address);
    if (last - walk->high >= (uintptr_t)MAX_PROBED_PAGES * ARCH_PAGE_BYTES)
        return false;
    while (walk->high <= last) {
        if (!is_readable(walk->high))
            return prove_word(walk, address);
        walk->high = page_end(walk->high);
    }
    return true;
}

static void make_rule(void *argument)
{
    struct unwind_state *state = argument;
    struct unwind_rule_request *request = &state->request;

    request->rule = unwind_cfi_make_rule_slow(request->address, state->epoch,
                                              state->walk.is_trusted, &state->scratch);
}

MTRACE_COLD struct unwind_rule unwind_step_rule_slow(struct unwind_state *state, uintptr_t address)
{
    state->request.address = address;
    unwind_stack_run(state, make_rule);
    return state->request.rule;
}

/* The outermost frame of the program: ld.so's entry code has no CFI. */
static bool is_program_entry(const struct unwind_frame *frame)
{
    return (uintptr_t)__libc_stack_end - frame->sp <= (uintptr_t)ARCH_ENTRY_BYTES;
}

void unwind_step_distrust(struct unwind_state *state)
{
    state->walk.is_trusted = false;
    if (!state->walk.is_own_stack)
        state->walk.high = state->walk.low; /* US-3 */
}

/* Everything further out depends on a guess. */
static void distrust(struct unwind_state *state, struct unwind_frame *frame)
{
    frame->flags |= FRAME_GUESSED;
    unwind_step_distrust(state);
}

static enum unwind_step end_at_entry(struct unwind_frame *frame)
{
    frame->flags |= FRAME_OUTERMOST;
    return STEP_END;
}

/* Where only some compilers make chains of frame pointers: is a call before this return address? */
static bool is_plausible(uintptr_t word)
{
#if ARCH_HAS_EXIDX
    const uintptr_t pc = arch_code_address(word);
    struct module module;
    uint8_t before[4];

    if (!modules_find(pc - 1, &module) || pc - module.start < sizeof(before)
        || !unwind_code_copy(before, pc - sizeof(before), sizeof(before)))
        return false;
    return arch_is_behind_call(before, word);
#else
    (void)word;
    return true;
#endif
}

MTRACE_COLD enum unwind_step unwind_step_guess(struct unwind_state *state,
                                               struct unwind_frame *frame,
                                               struct unwind_frame *ret_caller)
{
    uintptr_t record = frame->fp + (uintptr_t)ARCH_RECORD_AT_FP;

    frame->flags = (uint16_t)((frame->flags & FRAME_GIVEN) | FRAME_READS_FP);
    frame->link = LINK_STEP;
    if (is_program_entry(frame))
        return end_at_entry(frame);
    if (!ARCH_HAS_RECORDS)
        return STEP_TRUNCATED;
    distrust(state, frame);
    if (frame->fp == 0)
        return STEP_END;
    if (record % sizeof(uintptr_t) != 0 || record < frame->sp
        || !unwind_load(state, record, &ret_caller->fp)
        || !unwind_load(state, record + sizeof(uintptr_t), &ret_caller->pc)
        || !is_plausible(ret_caller->pc))
        return STEP_TRUNCATED;
    ret_caller->pc = arch_code_address(ret_caller->pc);
    if (ret_caller->pc < LOWEST_CODE)
        return ret_caller->pc == 0 ? STEP_END : STEP_TRUNCATED;
    /* everything is forgotten before words of our own stack become unreadable (OS-2), so they can
     * be verified */
    if (state->walk.is_own_stack)
        frame->link = -2 * (int16_t)sizeof(uintptr_t);
    frame->ra = -(int16_t)sizeof(uintptr_t);
    ret_caller->sp = record + 2 * sizeof(uintptr_t);
    ret_caller->flags = ARCH_RECORD_ENDS_FRAME ? 0 : FRAME_LOW_SP;
    return STEP_CALLER;
}

/* Does the address look like a return address? One examined before has a rule. */
static bool is_behind_call(const struct unwind_state *state, uintptr_t pc)
{
    struct unwind_rule rule;

    return unwind_cache_find(pc - 1, state->epoch, &rule) || unwind_code_is_behind_call(pc);
}

bool unwind_step_begin_code(struct unwind_state *state, struct unwind_frame *frame)
{
    if (is_program_entry(frame)) {
        frame->flags &= FRAME_GIVEN;
        frame->link = LINK_STEP;
        end_at_entry(frame);
        return false;
    }
    distrust(state, frame);
    return true;
}

enum unwind_step unwind_step_end_code(const struct unwind_state *state, struct unwind_frame *frame,
                                      enum unwind_step step, uintptr_t pc)
{
    frame->flags |= FRAME_GUESSED;
    if (!state->walk.is_own_stack)
        frame->link = LINK_STEP;
    return step == STEP_CALLER && !is_behind_call(state, pc) ? STEP_TRUNCATED : step;
}

MTRACE_COLD enum unwind_step unwind_step_code(struct unwind_state *state,
                                              struct unwind_frame *frame,
                                              const struct unwind_rule *rule,
                                              struct unwind_frame *ret_caller)
{
    const struct unwind_rule said = unwind_rule_of_code(rule);
    enum unwind_step step;

    if (!unwind_step_begin_code(state, frame))
        return STEP_END;
    step = unwind_step_ordinary(state, frame, &said, ret_caller);
    return unwind_step_end_code(state, frame, step, ret_caller->pc);
}

MTRACE_COLD enum unwind_step unwind_step_signal(struct unwind_state *state,
                                                struct unwind_frame *frame,
                                                const struct unwind_rule *rule,
                                                struct unwind_frame *ret_caller)
{
    struct unwind_walk *walk = &state->walk;
    uintptr_t sp_word = unwind_at(frame->sp, rule->cfa_offset);
    uintptr_t fp_word = unwind_at(frame->sp, rule->fp_offset);

    frame->flags &= FRAME_GIVEN;
    frame->link = LINK_STEP;
    if (frame->flags & FRAME_LOW_SP) /* only pc of an interrupted frame is in the record */
        return STEP_TRUNCATED;
    if (walk->n_jumps == UNWIND_MAX_JUMPS || !unwind_load(state, sp_word, &ret_caller->sp)
        || !unwind_load(state, sp_word + (uintptr_t)ARCH_SIGNAL_PC_BEHIND_SP, &ret_caller->pc)
        || !unwind_load(state, fp_word, &ret_caller->fp))
        return STEP_TRUNCATED;
    if (walk->n_jumps++ == 0)
        walk->first_segment_sp = frame->sp;
    ret_caller->flags = FRAME_EXACT;
    return unwind_enter_segment(state, ret_caller->sp) ? STEP_CALLER : STEP_TRUNCATED;
}
