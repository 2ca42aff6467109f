/* SPDX-License-Identifier: MIT */
/* First instructions of functions, and what they reveal about the frame at a later call. */
#include "collector/arch/arch.h"
#include "tests/lib/unit.h"

#include <string.h>

enum {
    LR = 14,
    NOP = 0xbf00,
    PUSH_R4_LR = 0xb510,
    BL = 0xf000, /* with the next: to what is behind it */
    BL_END = 0xf800,
};

static const uint32_t arm_bl = 0xeb000000;

static struct arch_code_frame frame_of_bytes(const void *code, size_t n_bytes,
                                             enum arch_code_answer expected)
{
    struct arch_code_frame frame = {.needs_fp = false};
    uint32_t words[32] = {0};

    assert_true(n_bytes <= sizeof(words));
    memcpy(words, code, n_bytes);
    assert_int_equal(arch_read_frame(words, n_bytes, 0, &frame), expected);
    return frame;
}

#define frame_of(code) frame_of_bytes(code, sizeof(code), ARCH_CODE_FOUND)

static void expect_frame(const struct arch_code_frame *frame, int bytes, uint32_t saved)
{
    assert_int_equal(frame->cfa_offset, bytes);
    assert_int_equal(frame->saved, saved);
    assert_int_equal(frame->offset[LR], -4);
    assert_false(frame->needs_fp);
}

/* str r4, [sp, #-20]!; strd r5, r6, [sp, #4]; strd r7, lr, [sp, #12]; sub sp, #44 */
TEST(registers_stored_one_by_one)
{
    const uint16_t code[] = {0xf84d, 0x4d14, 0xe9cd, 0x5601, 0xe9cd,
                             0x7e03, 0xb08b, NOP,    BL,     BL_END};
    const struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 20 + 44, 0x40f0);
    assert_int_equal(frame.offset[4], -20);
    assert_int_equal(frame.offset[5], -16);
    assert_int_equal(frame.offset[7], -8);
}

/* str r4, [sp, #-20]!; strd r7, lr, [sp, #12]; nop; strd r5, r6, [sp, #4]: as a compiler orders
 * them; and without the last */
TEST(lr_is_not_stored_last)
{
    const uint16_t code[] = {0xf84d, 0x4d14, 0xe9cd, 0x7e03, NOP, 0xe9cd, 0x5601, NOP, BL, BL_END};
    const struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 20, 0x40f0);
    assert_int_equal(frame.offset[5], -16);
    frame_of_bytes((const uint16_t[]){0xf84d, 0x4d14, 0xe9cd, 0x7e03, BL, BL_END}, 12,
                   ARCH_CODE_NONE);
}

/* strd r4, lr, [sp, #-8]! */
TEST(a_pair_is_pushed)
{
    const uint16_t code[] = {0xe96d, 0x4e02, BL, BL_END};
    const struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 8, 0x4010);
}

/* strd r4, r5, [sp, #-20]!; strd r6, r7, [sp, #8]; pld [r0]; str lr, [sp, #16]; sub sp, sp, #44 */
TEST(arm_code_stores_one_by_one)
{
    const uint32_t code[] = {0xe16d41f4, 0xe1cd60f8, 0xf5d0f000, 0xe58de010, 0xe24dd02c, arm_bl};
    const struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 20 + 44, 0x40f0);
    assert_int_equal(frame.offset[4], -20);
    assert_int_equal(frame.offset[7], -8);
}

/* push {r4, lr}; str lr, [sp, #8]; sub sp, #8: lr is stored again, where it is not saved */
TEST(a_store_is_not_always_a_save)
{
    const uint16_t code[] = {PUSH_R4_LR, 0xb082, 0xf8cd, 0xe008, BL, BL_END};
    const struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 16, 0x4010);
}

/* push {r4, r5, r6, lr}; ldr r3, [pc, #4]; b; a constant that looks like push {r2-r7, lr}; what was
 * jumped to */
TEST(a_constant_is_no_push)
{
    const uint16_t code[] = {0xb570, NOP, 0x4b01, 0xe003, NOP, NOP,
                             0xb5fc, 5,   NOP,    NOP,    BL,  BL_END};
    const struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 16, 0x4070);
}

/* A constant of the function before looks like what a variadic function begins with: sub sp,
 * #16. */
TEST(a_constant_makes_no_room)
{
    const uint16_t code[] = {0x4b01, 0x4770, NOP, NOP, 0xb084, 2, PUSH_R4_LR, NOP, BL, BL_END};
    const uint16_t variadic[] = {0xb40f, PUSH_R4_LR, BL, BL_END};
    struct arch_code_frame frame = frame_of(code);

    expect_frame(&frame, 8, 0x4010);
    frame = frame_of(variadic);
    assert_int_equal(frame.cfa_offset, 24);
    assert_int_equal(frame.offset[LR], -20);
}

/* Much ARM code, as a table of what is linked, before a function of Thumb. */
TEST(other_code_may_be_before)
{
    uint32_t code[16];
    struct arch_code_frame frame;

    for (size_t i = 0; i < 14; i++)
        code[i] = i % 3 == 0 ? 0xe52de004 : 0xe28fc603; /* str lr, [sp, #-4]!; add ip, pc, #... */
    code[14] = 0xbf00b570;                              /* push {r4-r6, lr}; nop */
    code[15] = 0xf800f000;
    frame = frame_of(code);
    expect_frame(&frame, 16, 0x4070);
}

/* push {r4, lr}; it ne; cmpne r0, #0; sub sp, #8; and it ne; subne sp, #8 */
TEST(conditional_instructions)
{
    const uint16_t compared[] = {PUSH_R4_LR, 0xbf18, 0x2800, 0xb082, BL, BL_END};
    const uint16_t lowered[] = {PUSH_R4_LR, 0xbf18, 0xb082, NOP, BL, BL_END};
    const struct arch_code_frame frame = frame_of(compared);

    expect_frame(&frame, 16, 0x4010);
    frame_of_bytes(lowered, sizeof(lowered), ARCH_CODE_NONE);
}
