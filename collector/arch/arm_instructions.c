/* SPDX-License-Identifier: MIT */
#include "collector/arch/arm_instructions.h"

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

/* add or sub of a number. */
struct sum {
    uint32_t to, from;
    bool is_sub;
    uint32_t number;
};

static bool is_fp(uint32_t number)
{
    return number == ARM_THUMB_FP || number == ARM_FP;
}

/* The effect if one operand is the stack pointer. */
static void take_sum(const struct sum *sum, struct arm_instruction *ret)
{
    if (sum->to == ARM_SP && sum->from == ARM_SP) {
        ret->kind = sum->is_sub ? ARM_LOWER : ARM_OTHER;
        ret->value = (int32_t)sum->number;
    } else if (sum->to == ARM_SP) {
        ret->kind = ARM_TAKE_FP;
        ret->number = sum->from;
    } else if (sum->from == ARM_SP && !sum->is_sub && is_fp(sum->to)) {
        ret->kind = ARM_MAKE_FP;
        ret->number = sum->to;
        ret->value = (int32_t)sum->number;
    }
}

/* str or strd, relative to the stack pointer. is_push: the stack pointer is lowered by the bytes
 * first. */
static void take_store(uint32_t mask, int32_t bytes, bool is_push, struct arm_instruction *ret)
{
    ret->kind = is_push ? ARM_PUSH : ARM_STORE;
    ret->mask = mask;
    ret->value = is_push ? bytes - 4 * __builtin_popcount(mask) : bytes;
}

/* ---- Thumb ---- */

static void decode_move(uint32_t half, struct arm_instruction *ret)
{
    const uint32_t to = (half & 7) | (half >> 4 & 8);
    const uint32_t from = bits(half, 3, 4);

    if (to == ARM_PC) {
        ret->kind = ARM_SWITCH;
    } else if (to == ARM_SP) {
        ret->kind = from == ARM_SP ? ARM_OTHER : ARM_TAKE_FP;
        ret->number = from;
    } else if (from == ARM_SP && is_fp(to)) {
        ret->kind = ARM_MAKE_FP;
        ret->number = to;
    }
}

static void decode_narrow(uint32_t half, struct arm_instruction *ret)
{
    if ((half & 0xfe00) == 0xb400) {
        ret->kind = ARM_PUSH;
        ret->mask = (half & 0xff) | (half & 0x100 ? 1u << ARM_LR : 0);
    } else if ((half & 0xff80) == 0xb080) { /* sub sp, # */
        ret->kind = ARM_LOWER;
        ret->value = (int32_t)bits(half, 0, 7) * 4;
    } else if ((half & 0xff00) == 0xaf00) { /* add r7, sp, # */
        ret->kind = ARM_MAKE_FP;
        ret->number = ARM_THUMB_FP;
        ret->value = (int32_t)bits(half, 0, 8) * 4;
    } else if ((half & 0xff00) == 0x4600) {
        decode_move(half, ret);
    } else if ((half & 0xff87) == 0x4487) { /* add pc, */
        ret->kind = ARM_SWITCH;
    } else if ((half & 0xff00) == 0xbd00 || (half & 0xff87) == 0x4700) { /* pop pc; bx */
        ret->kind = ARM_RETURN;
    } else if ((half & 0xff87) == 0x4780) { /* blx */
        ret->kind = ARM_CALL;
    } else if ((half & 0xf500) == 0xb100) { /* cbz */
        ret->kind = ARM_BRANCH;
        ret->distance = 4 + (intptr_t)(bits(half, 9, 1) << 6 | bits(half, 3, 5) << 1);
    } else if ((half & 0xff00) == 0xde00) { /* udf: execution ends there */
        ret->kind = ARM_JUMP;
    } else if ((half & 0xf000) == 0xd000 && (half & 0x0f00) != 0x0f00) {
        ret->kind = ARM_BRANCH;
        ret->distance = 4 + 2 * signed_bits(half & 0xff, 8);
    } else if ((half & 0xf800) == 0xe000) {
        ret->kind = ARM_JUMP;
        ret->distance = 4 + 2 * signed_bits(half & 0x7ff, 11);
    } else if ((half & 0xff00) == 0xbf00 && (half & 0xf) != 0) {
        ret->kind = ARM_IF;
        ret->value = 4 - __builtin_ctz(half & 0xf);
    }
}

static void decode_wide_branch(uint32_t first, uint32_t second, struct arm_instruction *ret)
{
    const uint32_t sign = bits(first, 10, 1);
    const uint32_t j1 = bits(second, 13, 1);
    const uint32_t j2 = bits(second, 11, 1);

    if ((second & 0xc000) == 0xc000) {
        ret->kind = ARM_CALL;
    } else if (second & 0x1000) {
        const uint32_t words = sign << 23 | (j1 == sign ? 1u << 22 : 0)
                               | (j2 == sign ? 1u << 21 : 0) | bits(first, 0, 10) << 11
                               | bits(second, 0, 11);
        ret->kind = ARM_JUMP;
        ret->distance = 4 + 2 * signed_bits(words, 24);
    } else if ((first & 0x0380) != 0x0380) {
        const uint32_t words =
            sign << 19 | j2 << 18 | j1 << 17 | bits(first, 0, 6) << 11 | bits(second, 0, 11);
        ret->kind = ARM_BRANCH;
        ret->distance = 4 + 2 * signed_bits(words, 20);
    }
}

/* A modified immediate of Thumb. */
static uint32_t expanded(uint32_t number)
{
    if (number >> 10 != 0)
        return rotated(0x80 | (number & 0x7f), number >> 7);
    return number >> 8 == 0
               ? number
               : 0; /* the byte repeated twice or four times: not the size of a frame */
}

static void decode_wide_sum(uint32_t first, uint32_t second, struct arm_instruction *ret)
{
    const uint32_t number = bits(first, 10, 1) << 11 | bits(second, 12, 3) << 8 | (second & 0xff);
    const struct sum sum = {.to = bits(second, 8, 4),
                            .from = first & 15,
                            .is_sub = (first & 0xa0) == 0xa0,
                            .number = first & 0x200 ? number : expanded(number)};

    take_sum(&sum, ret);
}

/* Stores above sp; false: another instruction. */
static bool decode_wide_store(uint32_t first, uint32_t second, struct arm_instruction *ret)
{
    const uint32_t number = second >> 12;
    const uint32_t other = bits(second, 8, 4);

    if (first == 0xf84d && (second & 0xf00) == 0xd00) /* str, [sp, #-n]! */
        take_store(1u << number, (int32_t)(second & 0xff), true, ret);
    else if (first == 0xf8cd) /* str, [sp, #n] */
        take_store(1u << number, (int32_t)(second & 0xfff), false, ret);
    else if ((first == 0xe96d || first == 0xe9cd) && number < other) /* strd, as these */
        take_store(1u << number | 1u << other, (int32_t)(second & 0xff) * 4, first == 0xe96d, ret);
    return ret->kind != ARM_OTHER;
}

static void decode_wide(uint32_t first, uint32_t second, struct arm_instruction *ret)
{
    const uint32_t of_sum = first & 0xfbf0;

    if (decode_wide_store(first, second, ret))
        return;
    if (first == 0xe92d) { /* stmdb sp!, */
        ret->kind = ARM_PUSH;
        ret->mask = second;
    } else if ((first & 0xffbf) == 0xed2d && (second & 0xe00) == 0xa00) { /* vpush */
        ret->kind = ARM_LOWER;
        ret->value = (int32_t)(second & 0xff) * 4;
    } else if (first == 0xebad && (second & 0xf00) == 0xd00) { /* sub sp, sp, register */
        ret->kind = ARM_LOWER;
    } else if (!(second & 0x8000)
               && (of_sum == 0xf100 || of_sum == 0xf1a0 || of_sum == 0xf200 || of_sum == 0xf2a0)) {
        decode_wide_sum(first, second, ret);
    } else if ((first & 0xf800) == 0xf000 && (second & 0x8000)) {
        decode_wide_branch(first, second, ret);
    } else if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000) { /* tbb, tbh */
        ret->kind = ARM_SWITCH;
    } else if ((first == 0xe8bd && (second & 0x8000)) || (first == 0xf85d && second == 0xfb04)) {
        ret->kind = ARM_RETURN;                                        /* pop pc */
    } else if ((first & 0xff70) == 0xf850 && second >> 12 == ARM_PC) { /* ldr pc */
        ret->kind = ARM_SWITCH;
    }
}

/* ---- ARM ---- */

static void decode_arm_sum(uint32_t word, struct arm_instruction *ret)
{
    const struct sum sum = {.to = bits(word, 12, 4),
                            .from = bits(word, 16, 4),
                            .is_sub = bits(word, 21, 4) == 2,
                            .number = rotated(word & 0xff, bits(word, 8, 4) * 2)};

    take_sum(&sum, ret);
}

static void decode_arm_jump(uint32_t word, struct arm_instruction *ret)
{
    const bool is_certain = word >> 28 == 0xe;

    if (word >> 25 == 0x7d || (word >> 28 != 0xf && (word & 0x0f000000) == 0x0b000000)
        || (word & 0x0ffffff0) == 0x012fff30) { /* blx #, bl, blx */
        ret->kind = ARM_CALL;
    } else if (word >> 28 == 0xf) { /* pld, and what only looks like other instructions */
        ret->kind = ARM_OTHER;
    } else if ((word & 0x0f000000) == 0x0a000000) {
        ret->kind = is_certain ? ARM_JUMP : ARM_BRANCH;
        ret->distance = 8 + 4 * signed_bits(word & 0xffffff, 24);
    } else if ((word & 0x0ffffff0) == 0x012fff10 || (word & 0x0fff8000) == 0x08bd8000
               || (word & 0x0fffffff) == 0x049df004 || (word & 0x0fffffff) == 0x01a0f00e) {
        ret->kind = is_certain ? ARM_RETURN : ARM_OTHER; /* bx; pop pc; mov pc, lr */
    } else if ((word & 0x0c10f000) == 0x0410f000 || (word & 0x0fe0f000) == 0x0080f000) {
        ret->kind = ARM_SWITCH; /* ldr pc; add pc */
    }
}

static void decode_arm(uint32_t word, struct arm_instruction *ret)
{
    const uint32_t of_sum = word & 0xfff00000;
    const uint32_t number = bits(word, 12, 4);

    if (word >> 16 == 0xe92d) { /* stmdb sp!, */
        ret->kind = ARM_PUSH;
        ret->mask = word & 0xffff;
    } else if (word >> 16 == 0xe52d || word >> 16 == 0xe58d) { /* str, [sp, #-n]!; str, [sp, #n] */
        take_store(1u << number, (int32_t)(word & 0xfff), word >> 16 == 0xe52d, ret);
    } else if ((word & 0xffff00f0) == 0xe16d00f0 || (word & 0xffff00f0) == 0xe1cd00f0) { /* strd */
        take_store(3u << number, (int32_t)(bits(word, 8, 4) << 4 | (word & 15)),
                   word >> 16 == 0xe16d, ret);
    } else if ((word & 0xffbf0e00) == 0xed2d0a00) { /* vpush */
        ret->kind = ARM_LOWER;
        ret->value = (int32_t)(word & 0xff) * 4;
    } else if ((word & 0xfffff010) == 0xe04dd000) { /* sub sp, sp, register */
        ret->kind = ARM_LOWER;
    } else if ((word & 0xffff0ff0) == 0xe1a00000 && word != 0xe1a00000) { /* mov */
        decode_arm_sum((word & 0xf) << 16 | (word & 0xf000) | 0x00800000, ret);
    } else if (of_sum == 0xe2800000 || of_sum == 0xe2400000) {
        decode_arm_sum(word, ret);
    }
    if (ret->kind == ARM_OTHER)
        decode_arm_jump(word, ret);
}

/* ---- both ---- */

static uint32_t half_at(const struct arm_code *part, size_t i)
{
    return part->code[i / 2] >> (i % 2 * 16) & 0xffff;
}

struct arm_instruction arm_instruction_at(const struct arm_code *part, size_t i)
{
    struct arm_instruction instruction = {.kind = ARM_OTHER};
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

bool arm_may_touch_sp(const struct arm_code *part, size_t i)
{
    const uint32_t half = half_at(part, i);

    return part->is_arm ? i % 2 == 0 : is_wide(half) || half >> 12 == 0xb || half >> 8 == 0xaf;
}

bool arm_is_begin(const struct arm_code *part, size_t i)
{
    size_t n = 0;

    if (part->is_arm)
        return i % 2 == 0;
    while (n < i && is_wide(half_at(part, i - n - 1)))
        n++;
    return n % 2 == 0;
}

enum {
    WIDE_LOAD = 0xf8df,           /* ldr, the only one that reaches so far */
    PAIR_LOAD = 0xe9df,           /* ldrd */
    MAX_NEAR = (255 + 1) * 2 + 2, /* halfwords from one of the other loads to its constant */
};

/* The first and last word that the pc-relative Thumb ldr, ldrd or vldr there loads; false: another
 * instruction. */
static bool find_loaded(const struct arm_code *part, size_t i, size_t *ret_first, size_t *ret_last)
{
    const uint32_t half = half_at(part, i);
    const uint32_t next = i + 1 < part->n ? half_at(part, i + 1) : 0;
    const bool is_vector = (half & 0xffbf) == 0xed9f && (next & 0xe00) == 0xa00;
    size_t distance;

    if ((half & 0xf800) == 0x4800)
        distance = bits(half, 0, 8) * 4;
    else if (half == WIDE_LOAD)
        distance = bits(next, 0, 12);
    else if (half == PAIR_LOAD || is_vector)
        distance = bits(next, 0, 8) * 4;
    else
        return false;
    *ret_first = (i / 2 + 1) + distance / 4;
    *ret_last = *ret_first + (half == PAIR_LOAD || (is_vector && (next & 0x100)));
    return true;
}

/* The instruction, from `from` on, that loads the word of this halfword; `i`: none. */
static size_t find_load(const struct arm_code *part, size_t i, size_t from)
{
    const size_t near = i > MAX_NEAR ? i - MAX_NEAR : 0;
    size_t first;
    size_t last;

    for (size_t k = from; k < i; k++)
        if ((k >= near || half_at(part, k) == WIDE_LOAD) && find_loaded(part, k, &first, &last)
            && first <= i / 2 && i / 2 <= last && arm_is_begin(part, k))
            return k;
    return i;
}

static size_t first_load(const struct arm_code *part, size_t i)
{
    const size_t most = ARM_MAX_TO_CONSTANT / 2;

    return find_load(part, i, i > most ? i - most : 0);
}

enum {
    MAX_LOOKED_AT = 16, /* constants that look like a load; each costs a search */
};

/* What looks like the load of a constant may be a constant itself. */
bool arm_is_constant(const struct arm_code *part, size_t i)
{
    size_t load;

    if (part->is_arm)
        return false;
    load = first_load(part, i);
    for (int n = 0; n < MAX_LOOKED_AT && load < i && first_load(part, load) < load; n++)
        load = find_load(part, i, load + 1);
    return load < i;
}
