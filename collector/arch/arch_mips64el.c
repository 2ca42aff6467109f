/* SPDX-License-Identifier: MIT */
/*
 * arch_read_frame, which knows what gcc's functions begin with: the stack pointer goes down, and registers are saved, all
 * before the first branch. Functions that have it otherwise save no return address that it finds.
 *
 * arch_call_on_stack. In assembly because the compiler must not touch the stack between the two
 * stack pointers; its CFI keeps gdb and C++ exceptions of a signal handler able to pass through.
 * A function finds its data by its own address, which a call leaves in t9 ($25).
 */
#include "collector/arch/arch_mips64el.h"

#include <stdbool.h>

__asm__(".pushsection .text\n"
        ".globl arch_call_on_stack\n"
        ".hidden arch_call_on_stack\n"
        ".type arch_call_on_stack, @function\n"
        ".balign 8\n"
        ".set push\n"
        ".set noreorder\n"
        "arch_call_on_stack:\n"
        ".cfi_startproc\n"
        "daddiu $sp, $sp, -16\n"
        ".cfi_def_cfa_offset 16\n"
        "sd $31, 8($sp)\n"
        "sd $fp, 0($sp)\n"
        ".cfi_offset 31, -8\n"
        ".cfi_offset 30, -16\n"
        "move $fp, $sp\n"
        ".cfi_def_cfa_register 30\n"
        "move $25, $4\n"
        "move $4, $5\n"
        "jalr $25\n"
        "move $sp, $6\n"
        "move $sp, $fp\n"
        ".cfi_def_cfa_register 29\n"
        "ld $31, 8($sp)\n"
        ".cfi_restore 31\n"
        "ld $fp, 0($sp)\n"
        ".cfi_restore 30\n"
        "daddiu $sp, $sp, 16\n"
        ".cfi_def_cfa_offset 0\n"
        "jr $31\n"
        "nop\n"
        ".cfi_endproc\n"
        ".set pop\n"
        ".size arch_call_on_stack, . - arch_call_on_stack\n"
        ".popsection\n");

enum {
    SP = ARCH_SP,
    FP = ARCH_FP,
    RA = 31,
    MOST_ALLOCATED = 1 << 22, /* bytes of a frame that rules have room for */
};

/* What constant a register has, as far as the instructions so far say so. */
struct constants {
    int64_t value[32];
    uint32_t known;
};

static void set_constant(struct constants *constants, unsigned number, int64_t value)
{
    constants->value[number] = value;
    constants->known |= (uint32_t)1 << number;
}

/* lui, ori and additions of an immediate: what a number of more than 16 bits is made of. */
static void follow_constant(struct constants *constants, uint32_t instruction)
{
    const unsigned from = instruction >> 21 & 31;
    const unsigned to = instruction >> 16 & 31;
    const bool is_from_known = from == 0 || (constants->known >> from & 1);
    const int64_t base = from == 0 ? 0 : constants->value[from];

    switch (instruction >> 26) {
    case 0x0f: /* lui */
        set_constant(constants, to, (int32_t)(instruction << 16));
        break;
    case 0x0d: /* ori */
        if (is_from_known)
            set_constant(constants, to, base | (instruction & 0xffff));
        break;
    case 0x09: /* addiu */
    case 0x19: /* daddiu */
        if (is_from_known)
            set_constant(constants, to, base + (int16_t)instruction);
        break;
    default:
        break;
    }
}

/* daddiu sp, sp, -n; or daddu or dsubu of a register whose constant is known. The bytes by which it goes down; 0: it does not. */
static int64_t allocates(const struct constants *constants, uint32_t instruction)
{
    const unsigned number = instruction >> 16 & 31;

    if ((instruction & 0xffff8000) == 0x67bd8000)
        return -(int64_t)(int16_t)instruction;
    if (!(constants->known >> number & 1))
        return 0;
    if ((instruction & 0xffe0ffff) == 0x03a0e82f)
        return constants->value[number];
    if ((instruction & 0xffe0ffff) == 0x03a0e82d)
        return -constants->value[number];
    return 0;
}

/* A branch or a jump, whose delay slot is still before it. */
static bool is_branch(uint32_t instruction)
{
    const uint32_t op = instruction >> 26;
    const uint32_t function = instruction & 0x3f;

    return (op == 0 && (function == 8 || function == 9)) || (op >= 1 && op <= 7)
           || (op >= 0x14 && op <= 0x17) || (instruction & 0xffe00000) == 0x45000000;
}

static void follow(struct arch_code_frame *frame, struct constants *constants, uint32_t instruction)
{
    const unsigned number = instruction >> 16 & 31;
    const int64_t bytes = allocates(constants, instruction);

    if (bytes > 0 && bytes < MOST_ALLOCATED - frame->cfa_offset)
        frame->cfa_offset += (int32_t)bytes;
    else if ((instruction & 0xffe00000) == 0xffa00000) { /* sd to a place above sp */
        if (!(frame->saved >> number & 1))
            frame->offset[number] = (int16_t)instruction - frame->cfa_offset;
        frame->saved |= (uint32_t)1 << number;
    } else if (instruction == 0x03a0f025 || instruction == 0x03a0f02d) /* move fp, sp */
        frame->base = FP;
    else
        follow_constant(constants, instruction);
}

/* The block that begins with the instruction at `first`; where it ends. */
static size_t read_block(const uint32_t *code, size_t first, size_t n,
                         struct arch_code_frame *ret_frame)
{
    struct constants constants = {.known = 0};
    size_t i = first;

    *ret_frame = (struct arch_code_frame){.base = SP};
    for (; i < n && i - first < ARCH_MOST_FRAME_CODE; i++) {
        if (is_branch(code[i])) {
            if (i + 1 < n)
                follow(ret_frame, &constants, code[i + 1]);
            return i + 2;
        }
        follow(ret_frame, &constants, code[i]);
    }
    return i;
}

static bool is_frame(const struct arch_code_frame *frame)
{
    return (frame->saved >> RA & 1) && frame->offset[RA] < 0
           && (frame->base == SP || (frame->saved >> FP & 1));
}

/* daddu x, x, t9: a function that uses data does so once, where it begins. */
static bool is_entry(uint32_t instruction)
{
    return (instruction & 0xfc1f07ff) == 0x0019002d
           && (instruction >> 21 & 31) == (instruction >> 11 & 31);
}

enum arch_code_answer arch_read_frame(const uint32_t *code, size_t n,
                                      struct arch_code_frame *ret_frame)
{
    size_t entry = 0;

    for (size_t i = n; i-- > 0;) {
        if (is_entry(code[i]) && entry == 0)
            entry = i;
        if ((code[i] & 0xffff8000) != 0x67bd8000)
            continue;
        if (read_block(code, i, n, ret_frame) <= entry)
            return ARCH_CODE_NONE;
        if (is_frame(ret_frame))
            return ARCH_CODE_FOUND;
    }
    return entry > ARCH_MOST_FRAME_CODE ? ARCH_CODE_NONE : ARCH_CODE_GO_ON;
}
