/* SPDX-License-Identifier: MIT */
/* Entries of .ARM.exidx and .ARM.extab made by hand, and the rows that the ABI says they are. */
#include "collector/unwind/exidx.h"
#include "tests/lib/unit.h"

#include <string.h>

enum {
    FP = 7,
    LR = 14,
    PC = 15,
    SP = 13,
    FUNCTION_AT = 256, /* from the index on */
    CANNOT_UNWIND = 1,
};

static _Alignas(8) uint8_t g_image[512]; /* index, table, and code from FUNCTION_AT on */

static uint32_t distance(size_t from, size_t to)
{
    return (uint32_t)(to - from) & 0x7fffffff;
}

static void put(size_t at, uint32_t word)
{
    memcpy(g_image + at, &word, sizeof(word));
}

/* One function with an entry, whose row at an odd place of it is wanted. */
static enum cfi_result row_at(uint32_t entry, size_t place, struct cfi_row *row)
{
    const struct cfi_section section = {.hdr = (uintptr_t)g_image,
                                        .n_entries = 1,
                                        .low = (uintptr_t)g_image,
                                        .high = (uintptr_t)g_image + sizeof(g_image)};

    put(0, distance(0, FUNCTION_AT));
    put(4, entry);
    return exidx_find_row(&section, (uintptr_t)g_image + FUNCTION_AT + place, row);
}

static void expect_saved(const struct cfi_row *row, unsigned number, int offset)
{
    assert_int_equal(row->registers[number].kind, CFI_AT_CFA);
    assert_int_equal(row->registers[number].offset, offset);
}

/* vsp += 12; pop {r4-r7, r14}: as Thumb code has it that calls */
TEST(pops_are_below_the_cfa)
{
    struct cfi_row row;

    assert_int_equal(row_at(0x8002abb0, 5, &row), CFI_FOUND);
    assert_int_equal(row.cfa.n, SP);
    assert_int_equal(row.cfa.offset, 12 + 20);
    assert_int_equal(row.return_column, LR);
    expect_saved(&row, 4, -20);
    expect_saved(&row, FP, -8);
    expect_saved(&row, LR, -4);
    assert_false(row.is_guess);
}

/* vsp = r7; vsp -= 8; pop {r7, r14}, in a table of the second form, with d8 and d9 */
TEST(a_frame_pointer_is_a_base)
{
    struct cfi_row row;

    put(16, 0x81019741);
    put(20, 0xb98408b0);
    assert_int_equal(row_at(distance(4, 16), 5, &row), CFI_FOUND);
    assert_int_equal(row.cfa.n, FP);
    assert_int_equal(row.cfa.offset, -8 + 20 + 8);
    expect_saved(&row, FP, -8);
    expect_saved(&row, LR, -4);
}

/* __gxx_personality_v0 and the like: a routine, then opcodes as in the second form */
TEST(a_routine_is_stepped_over)
{
    struct cfi_row row;

    put(16, distance(16, FUNCTION_AT));
    put(20, 0x00a8b0b0);
    assert_int_equal(row_at(distance(4, 16), 5, &row), CFI_FOUND);
    assert_int_equal(row.cfa.offset, 8);
    expect_saved(&row, 4, -8);
}

TEST(a_large_frame)
{
    struct cfi_row row;

    assert_int_equal(row_at(0x80b28104, 5, &row), CFI_FOUND); /* vsp += 0x204 + (0x201 << 2) */
    assert_int_equal(row.cfa.offset, 0x204 + (0x201 << 2));
}

/* vsp += 0x204 + (0xfffffff << 2), three times: more than 31 bits have, which no stack has
 * either */
TEST(nothing_overflows)
{
    struct cfi_row row;

    put(16, 0x8104b2ff);
    put(20, 0xffff7fb2);
    put(24, 0xffffff7f);
    put(28, 0xb2ffffff);
    put(32, 0x7fb0b0b0);
    assert_int_equal(row_at(distance(4, 16), 5, &row), CFI_FOUND);
    assert_true(row.cfa.offset == 3 * (0x204 + ((int64_t)0xfffffff << 2)));
}

TEST(entries_that_cannot_be_unwound)
{
    struct cfi_row row;

    assert_int_equal(row_at(CANNOT_UNWIND, 5, &row), CFI_NO_ENTRY);
    assert_int_equal(row_at(0x808000b0, 5, &row), CFI_MALFORMED); /* refuses */
    assert_int_equal(row_at(0x809db0b0, 5, &row), CFI_MALFORMED); /* vsp = r13 is reserved */
    assert_int_equal(row_at(0x80a89bb0, 5, &row),
                     CFI_MALFORMED); /* from another base than before */
    assert_int_equal(row_at(0x83a8b0b0, 5, &row), CFI_MALFORMED); /* a form that there is not */
    assert_int_equal(row_at(distance(4, 600), 5, &row),
                     CFI_MALFORMED); /* a table outside of the section */
}

/* An even place was interrupted: at a system call the table holds, and where it moves nothing. */
TEST(between_calls_it_is_a_guess)
{
    struct cfi_row row;

    memset(g_image + FUNCTION_AT, 0, 64);
    assert_int_equal(row_at(0x80a8b0b0, 8, &row), CFI_FOUND);
    assert_true(row.is_guess);
    assert_int_equal(row_at(0x80b0b0b0, 8, &row), CFI_FOUND);
    assert_false(row.is_guess);
    put(FUNCTION_AT + 4, 0xdf000000); /* Thumb's svc #0, then 8 */
    assert_int_equal(row_at(0x80a8b0b0, 8, &row), CFI_FOUND);
    assert_false(row.is_guess);
}
