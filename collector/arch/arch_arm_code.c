/* SPDX-License-Identifier: MIT */
/*
 * arch_read_frame and arch_read_rest of Thumb code, and of ARM code, which know what gcc's functions begin with: a push of lr, and by
 * how much the stack pointer goes down besides, all before the first branch.
 *
 * Model: both sets of instructions are decoded to what they do to the stack pointer and to what comes next. Where instructions of
 *        Thumb begin is known backwards, too: one of two halfwords begins with bits that no last one of others has in a row.
 */
#include "collector/arch/arch_arm.h"

enum {
    SP = ARCH_SP,
    LR = 14,
    PC = 15,
    ARM_FP = 11,
    MOST_ALLOCATED = 1 << 22, /* bytes of a frame that rules have room for */
    MOST_BEFORE = 12,         /* halfwords between two instructions that make one frame */
};

enum kind {
    OTHER,
    PUSH,    /* registers of a mask, below bytes that have none of them */
    LOWER,   /* the stack pointer, by a number of bytes; 0: nobody knows */
    MAKE_FP, /* a register is the stack pointer + a number of bytes */
    TAKE_FP, /* the stack pointer is made of a register */
    BRANCH,  /* perhaps */
    JUMP,    /* for certain */
    RETURN,  /* or a call of what returns for us */
    SWITCH,
    CALL,
    IF, /* a number of instructions is done perhaps */
};

struct instruction {
    enum kind kind;
    uint32_t n_bytes;
    uint32_t mask;     /* registers that it is about */
    uint32_t number;   /* register */
    int32_t value;     /* bytes, or instructions */
    intptr_t distance; /* from it to where it leads */
};

static uint32_t bits(uint32_t word, unsigned low, unsigned n)
{
    return word >> low & ((UINT32_C(1) << n) - 1);
}

static intptr_t signed_bits(uint32_t value, unsigned n)
{
    return (int32_t)(value << (32 - n)) >> (32 - n);
}

static uint32_t rotated(uint32_t value, unsigned by)
{
    return by == 0 ? value : value >> by | value << (32 - by);
}

static bool is_wide(uint32_t half)
{
    return (half & 0xf800) >= 0xe800;
}

/* ---- Thumb ---- */

static void decode_move(uint32_t half, struct instruction *ret)
{
    const uint32_t to = (half & 7) | (half >> 4 & 8);
    const uint32_t from = bits(half, 3, 4);

    if (to == PC) {
        ret->kind = SWITCH;
    } else if (to == SP) {
        ret->kind = from == SP ? OTHER : TAKE_FP;
        ret->number = from;
    } else if (from == SP && (to == ARCH_FP || to == ARM_FP)) {
        ret->kind = MAKE_FP;
        ret->number = to;
    }
}

static void decode_narrow(uint32_t half, struct instruction *ret)
{
    if ((half & 0xfe00) == 0xb400) {
        ret->kind = PUSH;
        ret->mask = (half & 0xff) | (half & 0x100 ? 1u << LR : 0);
    } else if ((half & 0xff80) == 0xb080) { /* sub sp, # */
        ret->kind = LOWER;
        ret->value = (int32_t)bits(half, 0, 7) * 4;
    } else if ((half & 0xff00) == 0xaf00) { /* add r7, sp, # */
        ret->kind = MAKE_FP;
        ret->number = ARCH_FP;
        ret->value = (int32_t)bits(half, 0, 8) * 4;
    } else if ((half & 0xff00) == 0x4600) {
        decode_move(half, ret);
    } else if ((half & 0xff87) == 0x4487) { /* add pc, */
        ret->kind = SWITCH;
    } else if ((half & 0xff00) == 0xbd00 || (half & 0xff87) == 0x4700) { /* pop pc; bx */
        ret->kind = RETURN;
    } else if ((half & 0xff87) == 0x4780) { /* blx */
        ret->kind = CALL;
    } else if ((half & 0xf500) == 0xb100) { /* cbz */
        ret->kind = BRANCH;
        ret->distance = 4 + (intptr_t)(bits(half, 9, 1) << 6 | bits(half, 3, 5) << 1);
    } else if ((half & 0xff00) == 0xde00) { /* udf: nothing goes on there */
        ret->kind = JUMP;
    } else if ((half & 0xf000) == 0xd000 && (half & 0x0f00) != 0x0f00) {
        ret->kind = BRANCH;
        ret->distance = 4 + 2 * signed_bits(half & 0xff, 8);
    } else if ((half & 0xf800) == 0xe000) {
        ret->kind = JUMP;
        ret->distance = 4 + 2 * signed_bits(half & 0x7ff, 11);
    } else if ((half & 0xff00) == 0xbf00 && (half & 0xf) != 0) {
        ret->kind = IF;
        ret->value = 4 - __builtin_ctz(half & 0xf);
    }
}

static void decode_wide_branch(uint32_t first, uint32_t second, struct instruction *ret)
{
    const uint32_t sign = bits(first, 10, 1);
    const uint32_t j1 = bits(second, 13, 1);
    const uint32_t j2 = bits(second, 11, 1);

    if ((second & 0xc000) == 0xc000) {
        ret->kind = CALL;
    } else if (second & 0x1000) {
        const uint32_t words = sign << 23 | (j1 == sign ? 1u << 22 : 0)
                               | (j2 == sign ? 1u << 21 : 0) | bits(first, 0, 10) << 11
                               | bits(second, 0, 11);
        ret->kind = JUMP;
        ret->distance = 4 + 2 * signed_bits(words, 24);
    } else if ((first & 0x0380) != 0x0380) {
        const uint32_t words =
            sign << 19 | j2 << 18 | j1 << 17 | bits(first, 0, 6) << 11 | bits(second, 0, 11);
        ret->kind = BRANCH;
        ret->distance = 4 + 2 * signed_bits(words, 20);
    }
}

/* add or sub of a number, with sp on one side. */
static void decode_wide_sum(uint32_t first, uint32_t second, struct instruction *ret)
{
    const uint32_t from = first & 15;
    const uint32_t to = bits(second, 8, 4);
    const bool is_sub = (first & 0xa0) == 0xa0;
    uint32_t number = bits(first, 10, 1) << 11 | bits(second, 12, 3) << 8 | (second & 0xff);

    if (!(first & 0x200)) { /* not as it is */
        if (number >> 10 != 0)
            number = rotated(0x80 | (number & 0x7f), number >> 7);
        else if (number >> 8 != 0) /* the byte twice, or four times: no size of a frame */
            number = 0;
    }
    if (to == SP && from == SP) {
        ret->kind = is_sub ? LOWER : OTHER;
        ret->value = (int32_t)number;
    } else if (to == SP) {
        ret->kind = TAKE_FP;
        ret->number = from;
    } else if (from == SP && !is_sub && (to == ARCH_FP || to == ARM_FP)) {
        ret->kind = MAKE_FP;
        ret->number = to;
        ret->value = (int32_t)number;
    }
}

static void decode_wide(uint32_t first, uint32_t second, struct instruction *ret)
{
    const uint32_t of_sum = first & 0xfbf0;

    if (first == 0xe92d) { /* stmdb sp!, */
        ret->kind = PUSH;
        ret->mask = second;
    } else if (first == 0xf84d && (second & 0xf00) == 0xd00) { /* str, [sp, #-n]! */
        ret->kind = PUSH;
        ret->mask = 1u << (second >> 12);
        ret->value = (int32_t)(second & 0xff) - 4;
    } else if ((first & 0xffbf) == 0xed2d && (second & 0xe00) == 0xa00) { /* vpush */
        ret->kind = LOWER;
        ret->value = (int32_t)(second & 0xff) * 4;
    } else if (first == 0xebad && (second & 0xf00) == 0xd00) { /* sub sp, sp, register */
        ret->kind = LOWER;
    } else if (!(second & 0x8000)
               && (of_sum == 0xf100 || of_sum == 0xf1a0 || of_sum == 0xf200 || of_sum == 0xf2a0)) {
        decode_wide_sum(first, second, ret);
    } else if ((first & 0xf800) == 0xf000 && (second & 0x8000)) {
        decode_wide_branch(first, second, ret);
    } else if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000) { /* tbb, tbh */
        ret->kind = SWITCH;
    } else if ((first == 0xe8bd && (second & 0x8000)) || (first == 0xf85d && second == 0xfb04)) {
        ret->kind = RETURN;                                        /* pop pc */
    } else if ((first & 0xff70) == 0xf850 && second >> 12 == PC) { /* ldr pc */
        ret->kind = SWITCH;
    }
}

/* ---- ARM ---- */

static void decode_arm_sum(uint32_t word, struct instruction *ret)
{
    const uint32_t from = bits(word, 16, 4);
    const uint32_t to = bits(word, 12, 4);
    const bool is_sub = bits(word, 21, 4) == 2;
    const uint32_t number = rotated(word & 0xff, bits(word, 8, 4) * 2);

    if (to == SP && from == SP) {
        ret->kind = is_sub ? LOWER : OTHER;
        ret->value = (int32_t)number;
    } else if (to == SP) {
        ret->kind = TAKE_FP;
        ret->number = from;
    } else if (from == SP && !is_sub && (to == ARCH_FP || to == ARM_FP)) {
        ret->kind = MAKE_FP;
        ret->number = to;
        ret->value = (int32_t)number;
    }
}

static void decode_arm_jump(uint32_t word, struct instruction *ret)
{
    const bool is_certain = word >> 28 == 0xe;

    if (word >> 25 == 0x7d || (word & 0x0f000000) == 0x0b000000
        || (word & 0x0ffffff0) == 0x012fff30) { /* blx #, bl, blx */
        ret->kind = CALL;
    } else if ((word & 0x0f000000) == 0x0a000000) {
        ret->kind = is_certain ? JUMP : BRANCH;
        ret->distance = 8 + 4 * signed_bits(word & 0xffffff, 24);
    } else if ((word & 0x0ffffff0) == 0x012fff10 || (word & 0x0fff8000) == 0x08bd8000
               || (word & 0x0fffffff) == 0x049df004 || (word & 0x0fffffff) == 0x01a0f00e) {
        ret->kind = is_certain ? RETURN : OTHER; /* bx; pop pc; mov pc, lr */
    } else if ((word & 0x0c10f000) == 0x0410f000 || (word & 0x0fe0f000) == 0x0080f000) {
        ret->kind = SWITCH; /* ldr pc; add pc */
    }
}

static void decode_arm(uint32_t word, struct instruction *ret)
{
    const uint32_t of_sum = word & 0xfff00000;

    if (word >> 16 == 0xe92d) { /* stmdb sp!, */
        ret->kind = PUSH;
        ret->mask = word & 0xffff;
    } else if (word >> 16 == 0xe52d) { /* str, [sp, #-n]! */
        ret->kind = PUSH;
        ret->mask = 1u << bits(word, 12, 4);
        ret->value = (int32_t)(word & 0xfff) - 4;
    } else if ((word & 0xffbf0e00) == 0xed2d0a00) { /* vpush */
        ret->kind = LOWER;
        ret->value = (int32_t)(word & 0xff) * 4;
    } else if ((word & 0xfffff010) == 0xe04dd000) { /* sub sp, sp, register */
        ret->kind = LOWER;
    } else if ((word & 0xffff0ff0) == 0xe1a00000 && word != 0xe1a00000) { /* mov */
        decode_arm_sum((word & 0xf) << 16 | (word & 0xf000) | 0x00800000, ret);
    } else if (of_sum == 0xe2800000 || of_sum == 0xe2400000) {
        decode_arm_sum(word, ret);
    }
    if (ret->kind == OTHER)
        decode_arm_jump(word, ret);
}

/* ---- both ---- */

/* A part of code, as halfwords. */
struct part {
    const uint32_t *code;
    size_t n;
    bool is_arm;
};

static uint32_t half_at(const struct part *part, size_t i)
{
    return part->code[i / 2] >> (i % 2 * 16) & 0xffff;
}

/* n_bytes 0: it is not whole. */
static struct instruction decode(const struct part *part, size_t i)
{
    struct instruction instruction = {.kind = OTHER};
    const uint32_t half = half_at(part, i);
    const bool is_word = part->is_arm || is_wide(half);

    if (is_word && i + 1 >= part->n)
        return instruction;
    instruction.n_bytes = is_word ? 4 : 2;
    if (part->is_arm)
        decode_arm(half | half_at(part, i + 1) << 16, &instruction);
    else if (is_word)
        decode_wide(half, half_at(part, i + 1), &instruction);
    else
        decode_narrow(half, &instruction);
    return instruction;
}

/* Whether an instruction begins there: what is before it are whole ones. */
static bool is_begin(const struct part *part, size_t i)
{
    size_t n = 0;

    if (part->is_arm)
        return i % 2 == 0;
    while (n < i && is_wide(half_at(part, i - n - 1)))
        n++;
    return n % 2 == 0;
}

/* Nearly all instructions of ARM code are done always, which bits say that Thumb code has by chance alone. */
static bool is_arm_code(const uint32_t *code, size_t n_words)
{
    size_t n_always = 0;

    for (size_t i = 0; i < n_words; i++)
        n_always += code[i] >> 28 == 0xe;
    return n_always * 2 > n_words;
}

static void save(struct arch_code_frame *frame, const struct instruction *push)
{
    int32_t offset;

    /* what is no code may look like a second one */
    frame->needs_fp |= (frame->saved >> LR & 1) && (push->mask & ~0xfu) != 0;
    frame->cfa_offset += push->value + 4 * __builtin_popcount(push->mask);
    offset = -frame->cfa_offset;
    for (unsigned number = 0; number < 16; number++) {
        if (!(push->mask >> number & 1))
            continue;
        if (!(frame->saved >> number & 1))
            frame->offset[number] = offset;
        frame->saved |= UINT32_C(1) << number;
        offset += 4;
    }
}

static void follow(struct arch_code_frame *frame, const struct instruction *instruction)
{
    switch (instruction->kind) {
    case PUSH:
        save(frame, instruction);
        break;
    case LOWER:
        if (instruction->value <= 0 || instruction->value >= MOST_ALLOCATED - frame->cfa_offset)
            frame->needs_fp = true;
        else
            frame->cfa_offset += instruction->value;
        break;
    case MAKE_FP:
        frame->fp = instruction->number;
        frame->fp_offset = frame->cfa_offset - instruction->value;
        break;
    default:
        break;
    }
}

/* The block that begins with the instruction at `first`; where it ends. */
static size_t read_block(const struct part *part, size_t first, struct arch_code_frame *frame)
{
    size_t i = first;

    *frame = (struct arch_code_frame){
        .begin = first * 2, .set = part->is_arm, .needs_fp = frame->needs_fp};
    while (i < part->n && (i - first) * 2 < ARCH_MOST_FRAME_CODE) {
        const struct instruction instruction = decode(part, i);
        if (instruction.n_bytes == 0 || instruction.kind >= BRANCH)
            break;
        follow(frame, &instruction);
        i += instruction.n_bytes / 2;
    }
    frame->end = i * 2;
    return i;
}

/*
 * A push that a function begins with: of r4 to r6 those are used first that have low numbers. Tables of a switch and constants, which
 * are among the code, have others as well.
 */
static bool is_first_push(const struct instruction *instruction)
{
    const uint32_t used = bits(instruction->mask, 4, 3);

    return instruction->kind == PUSH && (instruction->mask >> LR & 1) && (used & (used + 1)) == 0
           && !(instruction->mask & (1u << SP | 1u << PC));
}

/* A variadic function has pushed what came in registers, or made room for it, before. */
static size_t begin_of(const struct part *part, size_t push)
{
    for (size_t i = push; i-- > 0 && push - i <= MOST_BEFORE;) {
        struct instruction before;
        if (!is_begin(part, i))
            continue;
        before = decode(part, i);
        if (before.kind >= BRANCH)
            break;
        if ((before.kind == PUSH && before.mask != 0 && (before.mask & ~0xfu) == 0)
            || (before.kind == LOWER && before.value > 0 && before.value <= 16))
            return i;
    }
    return push;
}

enum arch_code_answer arch_read_frame(const uint32_t *code, size_t n_bytes,
                                      struct arch_code_frame *frame)
{
    const struct part part = {code, n_bytes / 2, is_arm_code(code, n_bytes / 4)};
    size_t last_move = 0; /* of the stack pointer, in none of the blocks that were read */

    for (size_t i = part.n; i-- > 0;) {
        const struct instruction instruction = decode(&part, i);
        const bool needed_fp = frame->needs_fp;
        size_t end;
        if ((instruction.kind != PUSH && instruction.kind != LOWER) || !is_begin(&part, i))
            continue;
        if (!is_first_push(&instruction)) {
            last_move = last_move > i ? last_move : i;
            continue;
        }
        end = read_block(&part, begin_of(&part, i), frame);
        frame->needs_fp |= last_move >= end;
        if (!frame->needs_fp || (frame->fp != 0 && (frame->saved >> frame->fp & 1)))
            return ARCH_CODE_FOUND;
        frame->needs_fp = needed_fp;
        return ARCH_CODE_NONE;
    }
    frame->needs_fp |= last_move > 0;
    return ARCH_CODE_GO_ON;
}

/* False: it does not tell whether there is a frame pointer. */
static bool tells_of_fp(const struct instruction *instruction, struct arch_code_rest *rest)
{
    /* alloca, or the next function's frame: this one does not return at all */
    rest->has_fp = (instruction->kind == TAKE_FP && instruction->number == rest->fp)
                   || instruction->kind == LOWER || instruction->kind == PUSH;
    return rest->has_fp || instruction->kind == RETURN;
}

/* Nothing goes on behind it, but where a branch leads. */
static bool is_end(enum kind kind)
{
    return kind == JUMP || kind == RETURN;
}

static bool has_ended(const struct instruction *instruction, struct arch_code_rest *rest)
{
    const uintptr_t next = rest->at + instruction->n_bytes;
    const uintptr_t target = rest->at + (uintptr_t)instruction->distance;

    if (instruction->kind == SWITCH)
        rest->reach = UINTPTR_MAX;
    else if ((instruction->kind == BRANCH || instruction->kind == JUMP) && target > rest->reach)
        rest->reach = target;
    return is_end(instruction->kind) && next < rest->pc && rest->reach < next;
}

enum arch_code_answer arch_read_rest(const uint32_t *code, size_t n_bytes,
                                     struct arch_code_rest *rest)
{
    const struct part part = {code, n_bytes / 2, rest->set != 0};

    for (size_t i = 0; i < part.n;) {
        const struct instruction instruction = decode(&part, i);
        if (instruction.n_bytes == 0)
            return ARCH_CODE_GO_ON;
        if (rest->n_perhaps > 0) {
            rest->n_perhaps--;
        } else {
            if (rest->at >= rest->made && rest->fp != 0 && tells_of_fp(&instruction, rest))
                rest->fp = 0;
            if (rest->at >= rest->pc && rest->fp == 0)
                return ARCH_CODE_FOUND;
            if (has_ended(&instruction, rest))
                return ARCH_CODE_NONE;
            if (instruction.kind == IF)
                rest->n_perhaps = (uint32_t)instruction.value;
        }
        i += instruction.n_bytes / 2;
        rest->at += instruction.n_bytes;
    }
    return ARCH_CODE_GO_ON;
}
