/* SPDX-License-Identifier: MIT */
/* Instructions as binutils' assembler writes them. */
#include "collector/arch/arm_instructions.h"
#include "tests/lib/unit.h"

static struct arm_instruction arm(uint32_t word)
{
    const struct arm_code part = {.code = &word, .n = 2, .is_arm = true};

    return arm_instruction_at(&part, 0);
}

static struct arm_instruction thumb(uint32_t first, uint32_t second)
{
    const uint32_t word = first | second << 16;
    const struct arm_code part = {.code = &word, .n = 2};

    return arm_instruction_at(&part, 0);
}

static void expect_store(struct arm_instruction instruction, enum arm_kind kind, uint32_t mask,
                         int value)
{
    assert_int_equal(instruction.kind, kind);
    assert_int_equal(instruction.mask, mask);
    assert_int_equal(instruction.value, value);
}

/* pld [pc, #8]; pld [r0]; pldw [r1]; ldr pc, [pc, #8] */
TEST(prefetches_are_no_jumps)
{
    assert_int_equal(arm(0xf5dff008).kind, ARM_OTHER);
    assert_int_equal(arm(0xf5d0f000).kind, ARM_OTHER);
    assert_int_equal(arm(0xf591f000).kind, ARM_OTHER);
    assert_int_equal(arm(0xe59ff008).kind, ARM_SWITCH);
    assert_int_equal(thumb(0xf89f, 0xf008).kind, ARM_OTHER);
    assert_int_equal(thumb(0xf890, 0xf000).kind, ARM_OTHER);
    assert_int_equal(thumb(0xf8df, 0xf008).kind, ARM_SWITCH);
    assert_int_equal(arm(0xfaffffe6).kind, ARM_CALL); /* blx # */
}

/* Of Thumb: push {r4, lr}; strd r4, lr, [sp, #-8]!; str r4, [sp, #-36]!; strd r5, r6, [sp, #4]; str
 * lr, [sp, #32] */
TEST(registers_are_stored_one_by_one)
{
    expect_store(thumb(0xb510, 0), ARM_PUSH, 0x4010, 0);
    expect_store(thumb(0xe96d, 0x4e02), ARM_PUSH, 0x4010, 0);
    expect_store(thumb(0xf84d, 0x4d24), ARM_PUSH, 0x10, 32);
    expect_store(thumb(0xe9cd, 0x5601), ARM_STORE, 0x60, 4);
    expect_store(thumb(0xf8cd, 0xe020), ARM_STORE, 0x4000, 32);
    /* of ARM: strd r4, r5, [sp, #-20]!; strd r6, r7, [sp, #8]; str r4, [sp, #-8]!; str lr, [sp,
     * #16] */
    expect_store(arm(0xe16d41f4), ARM_PUSH, 0x30, 12);
    expect_store(arm(0xe1cd60f8), ARM_STORE, 0xc0, 8);
    expect_store(arm(0xe52d4008), ARM_PUSH, 0x10, 4);
    expect_store(arm(0xe58de010), ARM_STORE, 0x4000, 16);
    /* strd r6, r5, [sp, #4]: not in the order of their numbers */
    assert_int_equal(thumb(0xe9cd, 0x6501).kind, ARM_OTHER);
}

/* subw sp, sp, #1148; add r7, sp, #8; sub sp, fp, #12 of ARM */
TEST(sums_with_the_stack_pointer)
{
    const struct arm_instruction made = thumb(0xf10d, 0x0708);
    const struct arm_instruction taken = arm(0xe24bd00c);

    expect_store(thumb(0xf2ad, 0x4d7c), ARM_LOWER, 0, 1148);
    assert_int_equal(made.kind, ARM_MAKE_FP);
    assert_int_equal(made.number, ARM_THUMB_FP);
    assert_int_equal(made.value, 8);
    assert_int_equal(taken.kind, ARM_TAKE_FP);
    assert_int_equal(taken.number, ARM_FP);
}

static bool is_loaded(uint32_t first, uint32_t second, size_t word)
{
    const uint32_t code[8] = {first | second << 16, 0, 0, 0, 0, 0, 0, 0};
    const struct arm_code part = {.code = code, .n = 16};

    assert_int_equal(arm_is_constant(&part, 2 * word), arm_is_constant(&part, 2 * word + 1));
    return arm_is_constant(&part, 2 * word);
}

/* ldr r3, [pc, #4]; ldr r9, [pc, #8]; vldr d8, s16 and ldrd r2, r3, [pc, #8] */
TEST(a_word_that_is_loaded_is_a_constant)
{
    assert_true(is_loaded(0x4b01, 0, 2));
    assert_false(is_loaded(0x4b01, 0, 1));
    assert_false(is_loaded(0x4b01, 0, 3));
    assert_true(is_loaded(0xf8df, 0x9008, 3));
    assert_true(is_loaded(0xed9f, 0x8b02, 3));
    assert_true(is_loaded(0xed9f, 0x8b02, 4));
    assert_false(is_loaded(0xed9f, 0x8a02, 4));
    assert_true(is_loaded(0xe9df, 0x2302, 4));
    assert_false(is_loaded(0xe9df, 0x2302, 5));
    /* ldr r4, [pc, #2818], whose second halfword looks like another */
    assert_false(is_loaded(0xf8df, 0x4b02, 3));
}

/* Two words, the one of which is loaded and looks like what loads the other. */
TEST(a_constant_loads_nothing)
{
    const uint32_t code[8] = {0x4b00, 0x4b01, 0, 0, 0, 0, 0, 0};
    const uint32_t unloaded[8] = {0, 0x4b01, 0, 0, 0, 0, 0, 0};
    const struct arm_code part = {.code = code, .n = 16};
    const struct arm_code other = {.code = unloaded, .n = 16};

    assert_true(arm_is_constant(&part, 2));
    assert_false(arm_is_constant(&part, 6));
    assert_true(arm_is_constant(&other, 6));
}
