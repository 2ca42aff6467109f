/* SPDX-License-Identifier: MIT */
/*
 * arm_instructions: the effect of ARM and Thumb instructions on the stack pointer and the control
 * flow.
 *
 * Code is viewed as halfwords from the beginning of a word. Thumb code can also be read backwards:
 * the number of consecutive halfwords before a place that look like the first half of a 32-bit
 * instruction tells whether an instruction begins there. Constants are in the code: the instruction
 * that loads one is at most ARM_MAX_TO_CONSTANT before it.
 */
#ifndef MTRACE_COLLECTOR_ARM_INSTRUCTIONS_H
#define MTRACE_COLLECTOR_ARM_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARM_MAX_TO_CONSTANT = 4096 + 4, /* bytes */
};

enum arm_register {
    ARM_THUMB_FP = 7, /* the frame pointer of Thumb code, and of ARM code */
    ARM_FP = 11,
    ARM_SP = 13,
    ARM_LR = 14,
    ARM_PC = 15,
};

enum arm_kind {
    ARM_OTHER,
    ARM_PUSH,    /* push the registers of a mask, below more bytes without registers */
    ARM_STORE,   /* store the registers of a mask at the stack pointer + value */
    ARM_LOWER,   /* lower the stack pointer by value bytes; 0: unknown */
    ARM_MAKE_FP, /* set a register to the stack pointer + value */
    ARM_TAKE_FP, /* set the stack pointer from a register */
    ARM_BRANCH,  /* conditional; this and all below end straight code */
    ARM_JUMP,    /* unconditional */
    ARM_RETURN,  /* or a call of a function that returns for us */
    ARM_SWITCH,
    ARM_CALL,
    ARM_IF, /* the next instructions are conditional */
};

struct arm_instruction {
    enum arm_kind kind;
    uint32_t n_bytes;
    uint32_t mask;     /* registers concerned */
    uint32_t number;   /* register */
    int32_t value;     /* bytes, or instructions */
    intptr_t distance; /* to its target */
};

struct arm_code {
    const uint32_t *code;
    size_t n; /* halfwords */
    bool is_arm;
};

/* The instruction at a halfword; n_bytes 0: it is incomplete. */
struct arm_instruction arm_instruction_at(const struct arm_code *part, size_t i)
    __attribute__((visibility("hidden")));

/* A fast test that is false for most halfwords: no push, store or sum with the stack pointer begins
 * there. */
bool arm_may_touch_sp(const struct arm_code *part, size_t i) __attribute__((visibility("hidden")));

/* Does an instruction begin there? True if whole instructions precede it. */
bool arm_is_begin(const struct arm_code *part, size_t i) __attribute__((visibility("hidden")));

/* A Thumb instruction before it loads the word of this halfword. */
bool arm_is_constant(const struct arm_code *part, size_t i) __attribute__((visibility("hidden")));

#endif
