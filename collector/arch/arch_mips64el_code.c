/* SPDX-License-Identifier: MIT */
/*
 * arch_read_frame and arch_read_rest.
 *
 * They recognize the beginning of gcc's functions, before the first branch: the stack pointer goes
 * down, and registers are saved. In other functions no saved return address is found.
 */
#include "collector/arch/arch.h"

enum {
    SP = ARCH_SP,
    FP = ARCH_FP,
    RA = 31,
    T9 = 25,
    JR_RA = 0x03e00008,
    MAX_ALLOCATED = 1 << 22, /* largest frame that rules can represent */
    MAX_BEFORE = 16,         /* instructions between one and another that it prepares */
};

/* Constants in registers, as far as known. */
struct constants {
    int64_t value[32];
    uint32_t known;
};

static void set_constant(struct constants *constants, unsigned number, int64_t value)
{
    constants->value[number] = value;
    constants->known |= (uint32_t)1 << number;
}

/* The register that an instruction writes, unless it is a store or branch. */
static unsigned target_of(uint32_t instruction)
{
    return instruction >> 26 == 0 ? instruction >> 11 & 31 : instruction >> 16 & 31;
}

/* lui, ori and additions of an immediate compose large constants. After other instructions the
 * register is unknown. */
static void follow_constant(struct constants *constants, uint32_t instruction)
{
    const unsigned from = instruction >> 21 & 31;
    const unsigned to = instruction >> 16 & 31;
    const bool is_from_known = from == 0 || (constants->known >> from & 1);
    const int64_t base = from == 0 ? 0 : constants->value[from];

    constants->known &= ~((uint32_t)1 << target_of(instruction));
    switch (instruction >> 26) {
    case 0x0f: /* lui */
        set_constant(constants, to, (int32_t)(instruction << 16));
        break;
    case 0x0d: /* ori */
        if (is_from_known)
            set_constant(constants, to, base | (instruction & 0xffff));
        break;
    case 0x09: /* addiu */
        if (is_from_known)
            set_constant(constants, to, (int32_t)(base + (int16_t)instruction));
        break;
    case 0x19: /* daddiu */
        if (is_from_known)
            set_constant(constants, to, base + (int16_t)instruction);
        break;
    default:
        break;
    }
}

/* daddiu sp, sp, -n */
static bool is_push(uint32_t instruction)
{
    return (instruction & 0xffff8000) == 0x67bd8000;
}

/* dsubu sp, sp, register */
static bool is_subtraction(uint32_t instruction)
{
    return (instruction & 0xffe0ffff) == 0x03a0e82f;
}

/* daddu sp, sp, register */
static bool is_addition(uint32_t instruction)
{
    return (instruction & 0xffe0ffff) == 0x03a0e82d;
}

/* The bytes by which the stack pointer goes down; 0: unknown. */
static int64_t allocated(const struct constants *constants, uint32_t instruction)
{
    const unsigned number = instruction >> 16 & 31;

    if (is_push(instruction))
        return -(int64_t)(int16_t)instruction;
    if (!(constants->known >> number & 1))
        return 0;
    return is_subtraction(instruction) ? constants->value[number] : -constants->value[number];
}

/* A branch or a jump; its delay slot belongs to the block. */
static bool is_branch(uint32_t instruction)
{
    const uint32_t op = instruction >> 26;
    const uint32_t function = instruction & 0x3f;

    return (op == 0 && (function == 8 || function == 9)) || (op >= 1 && op <= 7)
           || (op >= 0x14 && op <= 0x17) || (instruction & 0xffe00000) == 0x45000000;
}

static void move_sp(struct arch_code_frame *frame, const struct constants *constants,
                    uint32_t instruction)
{
    const int64_t bytes = allocated(constants, instruction);

    if (bytes <= 0 || bytes >= MAX_ALLOCATED - frame->cfa_offset)
        frame->needs_fp = true;
    else
        frame->cfa_offset += (int32_t)bytes;
}

static void follow(struct arch_code_frame *frame, struct constants *constants, uint32_t instruction)
{
    const unsigned number = instruction >> 16 & 31;

    if (is_push(instruction) || is_subtraction(instruction) || is_addition(instruction)) {
        move_sp(frame, constants, instruction);
    } else if ((instruction & 0xffe00000) == 0xffa00000) { /* sd to a place above sp */
        if (!(frame->saved >> number & 1))
            frame->offset[number] = (int16_t)instruction - frame->cfa_offset;
        frame->saved |= (uint32_t)1 << number;
    } else if (instruction == 0x03a0f025 || instruction == 0x03a0f02d) { /* move fp, sp */
        frame->fp = FP;
        frame->fp_offset = frame->cfa_offset;
    } else {
        follow_constant(constants, instruction);
    }
}

/* Reads the block that begins with the instruction at `first`, or with constants before it; returns
 * its end. */
static size_t read_block(const uint32_t *code, size_t first, size_t n,
                         struct arch_code_frame *frame)
{
    struct constants constants = {.known = 0};
    size_t i = first > MAX_BEFORE ? first - MAX_BEFORE : 0;

    *frame = (struct arch_code_frame){.begin = first * sizeof(*code), .needs_fp = frame->needs_fp};
    for (; i < first; i++)
        follow_constant(&constants, code[i]);
    for (; i < n && i - first < ARCH_MAX_FRAME_CODE / sizeof(*code); i++) {
        if (is_branch(code[i])) {
            if (i + 1 < n)
                follow(frame, &constants, code[i + 1]);
            return i + 2;
        }
        follow(frame, &constants, code[i]);
    }
    return i;
}

static bool is_frame(const struct arch_code_frame *frame)
{
    return (frame->saved >> RA & 1) && frame->offset[RA] < 0
           && (!frame->needs_fp || (frame->fp != 0 && (frame->saved >> FP & 1)));
}

/* lui x; daddu x, x, t9: a function that uses data has this once, at its beginning. */
static bool is_entry(const uint32_t *code, size_t i)
{
    const uint32_t number = code[i] >> 11 & 31;

    if ((code[i] & 0xfc1f07ff) != 0x0019002d || (code[i] >> 21 & 31) != number)
        return false;
    for (size_t k = 1; k <= MAX_BEFORE && k <= i; k++)
        if (code[i - k] >> 16 == (0x3c00 | number))
            return true;
    return false;
}

enum arch_code_answer arch_read_frame(const uint32_t *code, size_t n_bytes, size_t n_before,
                                      struct arch_code_frame *frame)
{
    const size_t n = n_bytes / sizeof(*code);
    size_t entry = 0;
    size_t last_move = 0; /* of the stack pointer, outside of the blocks read */

    for (size_t i = n; i-- > n_before / sizeof(*code);) {
        if (is_subtraction(code[i]) && last_move == 0)
            last_move = i;
        if (entry == 0 && is_entry(code, i))
            entry = i;
        if (!is_push(code[i]))
            continue;
        const bool needed_fp = frame->needs_fp;
        const size_t end = read_block(code, i, n, frame);
        if (end <= entry)
            return ARCH_CODE_NONE;
        frame->needs_fp |= last_move >= end;
        frame->end = (end < n ? end : n) * sizeof(*code);
        if (is_frame(frame))
            return ARCH_CODE_FOUND;
        frame->needs_fp = needed_fp;
        last_move = last_move > i ? last_move : i;
    }
    frame->needs_fp |= last_move > 0;
    return entry > ARCH_MAX_FRAME_CODE / sizeof(*code) ? ARCH_CODE_NONE : ARCH_CODE_GO_ON;
}

/* The target of a conditional branch; 0: another instruction. Calls return, so they do not
 * count. */
static uintptr_t target_at(uintptr_t at, uint32_t instruction)
{
    const uint32_t op = instruction >> 26;
    const bool is_conditional = (op == 1 && !(instruction >> 20 & 1)) || (op >= 4 && op <= 7)
                                || (op >= 0x14 && op <= 0x17)
                                || (instruction & 0xffe00000) == 0x45000000;

    return is_conditional ? at + 4 + (uintptr_t)((intptr_t)(int16_t)instruction * 4) : 0;
}

/* The code after it and its delay slot runs only if a branch leads there: b, j, jr. */
static bool is_end(uint32_t instruction)
{
    return instruction >> 16 == 0x1000 || instruction >> 26 == 2
           || (instruction & 0xfc00003f) == 0x00000008;
}

/* jr of a register that has neither a return address nor a function's address: a switch. */
static bool is_switch(uint32_t instruction)
{
    const uint32_t number = instruction >> 21 & 31;

    return (instruction & 0xfc00003f) == 0x00000008 && number != RA && number != T9;
}

/* False: the instruction does not show whether there is a frame pointer. */
static bool tells_of_fp(uint32_t instruction, struct arch_code_rest *rest)
{
    /* move sp, fp; or alloca, or the next function's frame because this one never returns */
    rest->has_fp = instruction == 0x03c0e825 || instruction == 0x03c0e82d || is_push(instruction)
                   || is_subtraction(instruction);
    return rest->has_fp || instruction == JR_RA;
}

enum arch_code_answer arch_read_rest(const uint32_t *code, size_t n_bytes,
                                     struct arch_code_rest *rest)
{
    for (size_t i = 0; i < n_bytes / sizeof(*code); i++, rest->at += sizeof(*code)) {
        const uintptr_t target = target_at(rest->at, code[i]);

        if (rest->at >= rest->made && rest->fp != 0 && tells_of_fp(code[i], rest))
            rest->fp = 0;
        if (rest->at >= rest->pc && rest->fp == 0)
            return ARCH_CODE_FOUND;
        if (is_switch(code[i]))
            rest->reach = UINTPTR_MAX;
        else if (target > rest->reach)
            rest->reach = target;
        if (is_end(code[i]) && rest->at + ARCH_CALL_BYTES < rest->pc
            && rest->reach < rest->at + ARCH_CALL_BYTES)
            return ARCH_CODE_NONE;
    }
    return ARCH_CODE_GO_ON;
}
