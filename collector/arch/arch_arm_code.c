/* SPDX-License-Identifier: MIT */
/*
 * arch_read_frame and arch_read_rest of Thumb and ARM code.
 *
 * They recognize the beginning of gcc's functions, before the first branch: a push of lr, or single
 * stores of registers into space reserved for them, and further changes of the stack pointer.
 */
#include "collector/arch/arch.h"
#include "collector/arch/arm_instructions.h"

enum {
    MAX_ALLOCATED = 1 << 22, /* largest frame that rules can represent */
    MAX_BEFORE = 12,         /* halfwords between two instructions that make one frame */
    MAX_STORING = 40,        /* halfwords of single stores of registers */
    MAX_NEAR = 16,           /* words before a call that show its instruction set */
};

_Static_assert((int)ARCH_CODE_BEFORE_BYTES == (int)ARM_MAX_TO_CONSTANT,
               "what loads a constant must be there");

/* Instruction sets. */
enum set {
    UNKNOWN,
    ARM,
    THUMB,
};

/* Nearly all ARM instructions are unconditional; Thumb code has these bits only by chance. */
static enum set probable_set(const uint32_t *code, size_t n_words)
{
    size_t n_always = 0;

    for (size_t i = 0; i < n_words; i++)
        n_always += code[i] >> 28 == 0xe;
    if (n_always * 8 > n_words * 7)
        return ARM;
    return n_always * 2 < n_words ? THUMB : UNKNOWN;
}

/* The set of the code that ends with a call; code further back may differ. */
static enum set set_of(const uint32_t *code, size_t n_bytes)
{
    const uint8_t *before = (const uint8_t *)code + n_bytes - ARCH_CALL_BYTES;
    const size_t n_words = n_bytes / 4;
    const size_t n_near = n_words < MAX_NEAR ? n_words : MAX_NEAR;

    if (n_bytes % 4 != 0 || !arch_is_behind_call(before, 0))
        return THUMB;
    if (!arch_is_behind_call(before, 1))
        return ARM;
    return probable_set(code + n_words - n_near, n_near);
}

static void save(struct arch_code_frame *frame, uint32_t mask, int32_t offset)
{
    for (unsigned number = 0; number < 16; number++) {
        if (!(mask >> number & 1))
            continue;
        if (!(frame->saved >> number & 1))
            frame->offset[number] = offset;
        frame->saved |= UINT32_C(1) << number;
        offset += 4;
    }
}

static int32_t bytes_of(const struct arm_instruction *instruction)
{
    return instruction->value + 4 * __builtin_popcount(instruction->mask);
}

static void push(struct arch_code_frame *frame, const struct arm_instruction *instruction)
{
    /* data among the code may look like a second push */
    frame->needs_fp |= (frame->saved >> ARM_LR & 1) && (instruction->mask & ~0xfu) != 0;
    frame->cfa_offset += bytes_of(instruction);
    save(frame, instruction->mask, -frame->cfa_offset);
}

static void follow(struct arch_code_frame *frame, const struct arm_instruction *instruction)
{
    switch (instruction->kind) {
    case ARM_PUSH:
        push(frame, instruction);
        break;
    case ARM_LOWER:
        if (instruction->value <= 0 || instruction->value >= MAX_ALLOCATED - frame->cfa_offset)
            frame->needs_fp = true;
        else
            frame->cfa_offset += instruction->value;
        break;
    case ARM_MAKE_FP:
        frame->fp = instruction->number;
        frame->fp_offset = frame->cfa_offset - instruction->value;
        break;
    default:
        break;
    }
}

/* Where registers are stored one by one, relative to the CFA. */
struct reservation {
    size_t push; /* the instruction that makes it; SIZE_MAX: none */
    int32_t low, high;
};

static void fill(struct reservation *room, size_t i, const struct arm_instruction *instruction,
                 struct arch_code_frame *frame)
{
    const int32_t place = instruction->value - frame->cfa_offset;
    const int32_t behind = place + 4 * __builtin_popcount(instruction->mask);

    if (i == room->push) {
        room->low = -frame->cfa_offset;
        room->high = room->low + bytes_of(instruction);
    } else if (instruction->kind == ARM_STORE && place >= room->low && behind <= room->high) {
        save(frame, instruction->mask, place);
    }
}

/* Every word of the reservation has a register, so no store was missed. */
static bool is_full(const struct reservation *room, const struct arch_code_frame *frame)
{
    int32_t n_bytes = 0;

    for (unsigned number = 0; number < 16; number++)
        if ((frame->saved >> number & 1) && frame->offset[number] >= room->low
            && frame->offset[number] < room->high)
            n_bytes += 4;
    return n_bytes == room->high - room->low;
}

/* The place after conditional instructions, if they do not make a frame; `i`: they may. */
static size_t skip_perhaps(const struct arm_code *part, size_t i, int32_t n)
{
    size_t next = i;

    for (; n > 0; n--) {
        const struct arm_instruction instruction = arm_instruction_at(part, next);
        if (instruction.n_bytes == 0 || instruction.kind != ARM_OTHER)
            return i;
        next += instruction.n_bytes / 2;
    }
    return next;
}

/* Reads the block that begins with the instruction at `first`; returns its end. */
static size_t read_block(const struct arm_code *part, size_t first, struct reservation *room,
                         struct arch_code_frame *frame)
{
    size_t i = first;

    *frame = (struct arch_code_frame){
        .begin = first * 2, .set = frame->set, .needs_fp = frame->needs_fp};
    while (i < part->n && (i - first) * 2 < ARCH_MAX_FRAME_CODE) {
        const struct arm_instruction instruction = arm_instruction_at(part, i);
        const size_t next = i + instruction.n_bytes / 2;
        const size_t behind =
            instruction.kind == ARM_IF ? skip_perhaps(part, next, instruction.value) : next;
        if (instruction.n_bytes == 0
            || (instruction.kind == ARM_IF ? behind == next : instruction.kind >= ARM_BRANCH))
            break;
        follow(frame, &instruction);
        fill(room, i, &instruction, frame);
        i = behind;
    }
    frame->end = i * 2;
    return i;
}

/*
 * A push that may begin a function: gcc uses r4 to r6 in rising order. Tables of a switch among the
 * code look like other pushes, too.
 */
static bool is_first_push(const struct arm_instruction *instruction)
{
    const uint32_t used = instruction->mask >> 4 & 7;

    return instruction->kind == ARM_PUSH && (instruction->mask >> ARM_LR & 1)
           && (used & (used + 1)) == 0 && !(instruction->mask & (1u << ARM_SP | 1u << ARM_PC));
}

/* Code tuned for the Cortex-A15 reserves space with the first store, and stores lr in the last word
 * of it; the stores have any order. Returns that first store, or `store` if there is none. */
static size_t push_of(const struct arm_code *part, size_t store,
                      const struct arm_instruction *instruction)
{
    for (size_t i = store; i-- > 0 && store - i <= MAX_STORING;) {
        struct arm_instruction before;
        if (!arm_is_begin(part, i))
            continue;
        before = arm_instruction_at(part, i);
        if (before.kind == ARM_PUSH && bytes_of(&before) == bytes_of(instruction))
            return i;
        if (before.kind == ARM_PUSH || before.kind == ARM_LOWER || before.kind >= ARM_BRANCH)
            break;
    }
    return store;
}

/* Finds the instruction that saves lr, or that reserves space for it; false: this is not it. */
static bool find_push(const struct arm_code *part, size_t i,
                      const struct arm_instruction *instruction, size_t *ret_push)
{
    *ret_push = instruction->kind == ARM_STORE ? push_of(part, i, instruction) : i;
    return instruction->kind == ARM_STORE ? *ret_push != i : is_first_push(instruction);
}

/* A variadic function has pushed its register arguments, or reserved space for them, before. */
static size_t begin_of(const struct arm_code *part, size_t push)
{
    for (size_t i = push; i-- > 0 && push - i <= MAX_BEFORE;) {
        struct arm_instruction before;
        if (!arm_is_begin(part, i))
            continue;
        before = arm_instruction_at(part, i);
        if (before.kind >= ARM_BRANCH)
            break;
        if (((before.kind == ARM_PUSH && before.mask != 0 && (before.mask & ~0xfu) == 0)
             || (before.kind == ARM_LOWER && before.value > 0 && before.value <= 16))
            && !arm_is_constant(part, i))
            return i;
    }
    return push;
}

static bool moves_sp(const struct arm_instruction *instruction)
{
    return instruction->kind == ARM_PUSH || instruction->kind == ARM_LOWER;
}

static bool may_save_lr(const struct arm_instruction *instruction)
{
    return instruction->kind == ARM_STORE && (instruction->mask >> ARM_LR & 1);
}

enum arch_code_answer arch_read_frame(const uint32_t *code, size_t n_bytes, size_t n_before,
                                      struct arch_code_frame *frame)
{
    struct arm_code part = {.code = code, .n = n_bytes / 2};
    size_t last_move = 0; /* of the stack pointer, outside of the blocks read */

    if (frame->set == UNKNOWN)
        frame->set = set_of(code, n_bytes);
    if (frame->set == UNKNOWN)
        return ARCH_CODE_NONE;
    part.is_arm = frame->set == ARM;
    for (size_t i = part.n; i-- > n_before / 2;) {
        if (!arm_may_touch_sp(&part, i))
            continue;
        const struct arm_instruction instruction = arm_instruction_at(&part, i);
        const bool needed_fp = frame->needs_fp;
        struct reservation room;
        size_t push;
        size_t end;
        if ((!moves_sp(&instruction) && !may_save_lr(&instruction)) || !arm_is_begin(&part, i))
            continue;
        if (!find_push(&part, i, &instruction, &push)) {
            if (moves_sp(&instruction) && last_move == 0)
                last_move = i;
            continue;
        }
        if (arm_is_constant(&part, push))
            continue;
        room = (struct reservation){.push = push == i ? SIZE_MAX : push};
        end = read_block(&part, begin_of(&part, push), &room, frame);
        frame->needs_fp |= last_move >= end;
        if (!is_full(&room, frame))
            return ARCH_CODE_NONE;
        if (!frame->needs_fp || (frame->fp != 0 && (frame->saved >> frame->fp & 1)))
            return ARCH_CODE_FOUND;
        frame->needs_fp = needed_fp;
        return ARCH_CODE_NONE;
    }
    frame->needs_fp |= last_move > 0;
    return ARCH_CODE_GO_ON;
}

/* False: the instruction does not show whether there is a frame pointer. */
static bool tells_of_fp(const struct arm_instruction *instruction, struct arch_code_rest *rest)
{
    /* alloca, or the next function's frame because this one never returns */
    rest->has_fp = (instruction->kind == ARM_TAKE_FP && instruction->number == rest->fp)
                   || instruction->kind == ARM_LOWER || instruction->kind == ARM_PUSH;
    return rest->has_fp || instruction->kind == ARM_RETURN;
}

/* The next instruction runs only if a branch leads to it. */
static bool is_end(enum arm_kind kind)
{
    return kind == ARM_JUMP || kind == ARM_RETURN;
}

static bool has_ended(const struct arm_instruction *instruction, struct arch_code_rest *rest)
{
    const uintptr_t next = rest->at + instruction->n_bytes;
    const uintptr_t target = rest->at + (uintptr_t)instruction->distance;

    if (instruction->kind == ARM_SWITCH)
        rest->reach = UINTPTR_MAX;
    else if ((instruction->kind == ARM_BRANCH || instruction->kind == ARM_JUMP)
             && target > rest->reach)
        rest->reach = target;
    return is_end(instruction->kind) && next < rest->pc && rest->reach < next;
}

enum arch_code_answer arch_read_rest(const uint32_t *code, size_t n_bytes,
                                     struct arch_code_rest *rest)
{
    const struct arm_code part = {code, n_bytes / 2, rest->set == ARM};

    for (size_t i = 0; i < part.n;) {
        const struct arm_instruction instruction = arm_instruction_at(&part, i);
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
            if (instruction.kind == ARM_IF)
                rest->n_perhaps = (uint32_t)instruction.value;
        }
        i += instruction.n_bytes / 2;
        rest->at += instruction.n_bytes;
    }
    return ARCH_CODE_GO_ON;
}
