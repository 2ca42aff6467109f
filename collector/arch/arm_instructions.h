/* SPDX-License-Identifier: MIT */
/*
 * arm_instructions: what instructions of ARM and Thumb code do to the stack pointer and what comes next.
 *
 * Model: a part of code is seen as halfwords, from the beginning of a word on. Where instructions of Thumb begin is known backwards,
 *        too: one of two halfwords begins with bits that no last one of others has in a row. Constants are among the code: who loads
 *        one is at most ARM_MOST_TO_CONSTANT before it.
 */
#ifndef MTRACE_COLLECTOR_ARM_INSTRUCTIONS_H
#define MTRACE_COLLECTOR_ARM_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARM_MOST_TO_CONSTANT = 4096 + 4, /* bytes */
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
    ARM_PUSH,    /* registers of a mask, below bytes that have none of them */
    ARM_STORE,   /* registers of a mask, to the stack pointer + a number of bytes */
    ARM_LOWER,   /* the stack pointer, by a number of bytes; 0: nobody knows */
    ARM_MAKE_FP, /* a register is the stack pointer + a number of bytes */
    ARM_TAKE_FP, /* the stack pointer is made of a register */
    ARM_BRANCH,  /* perhaps; this and all below it end what is done in a row */
    ARM_JUMP,    /* for certain */
    ARM_RETURN,  /* or a call of what returns for us */
    ARM_SWITCH,
    ARM_CALL,
    ARM_IF, /* a number of instructions is done perhaps */
};

struct arm_instruction {
    enum arm_kind kind;
    uint32_t n_bytes;
    uint32_t mask;     /* registers that it is about */
    uint32_t number;   /* register */
    int32_t value;     /* bytes, or instructions */
    intptr_t distance; /* from it to where it leads */
};

struct arm_code {
    const uint32_t *code;
    size_t n; /* halfwords */
    bool is_arm;
};

/* The instruction at a halfword; n_bytes 0: it is not whole. */
struct arm_instruction arm_instruction_at(const struct arm_code *part, size_t i)
    __attribute__((visibility("hidden")));

/* False for most halfwords at a glance: no push, store or sum with the stack pointer begins there. */
bool arm_may_touch_sp(const struct arm_code *part, size_t i) __attribute__((visibility("hidden")));

/* Whether an instruction begins there: what is before it are whole ones. */
bool arm_is_begin(const struct arm_code *part, size_t i) __attribute__((visibility("hidden")));

/* An instruction of Thumb before it loads the word that this halfword is of. */
bool arm_is_constant(const struct arm_code *part, size_t i) __attribute__((visibility("hidden")));

#endif
