/* SPDX-License-Identifier: MIT */
/* Numbers with half of the width of their interval, and the rule for single samples. */
#include "queries/render/estimate.h"
#include "tests/lib/unit.h"

#include <math.h>
#include <string.h>

TEST(exact_numbers_stand_alone)
{
    char text[ESTIMATE_TEXT_BYTES];

    assert_string_equal(estimate_format_bytes(1536, -1, text), "1.5 KiB");
    assert_string_equal(estimate_format_count(1234, -1, text), "1,234");
    assert_string_equal(estimate_format_blocks(1, -1, text), "1 block");
    assert_string_equal(estimate_format_blocks(0, -1, text), "0 blocks");
}

TEST(estimates_have_their_margin)
{
    char text[ESTIMATE_TEXT_BYTES];

    assert_string_equal(estimate_format_bytes(1536, 511.6, text), "1.5 KiB ± 512 B");
    assert_string_equal(estimate_format_count(1234, 0, text), "1,234 ± 0");
    assert_string_equal(estimate_format_bytes(0, 0, text), "0 B"); /* no sample */
    assert_string_equal(estimate_format_bytes(1536, estimate_margin(true, 512.0 * 512), text),
                        "1.5 KiB ± 512 B");
    assert_string_equal(estimate_format_bytes(1536, estimate_margin(false, 0), text), "1.5 KiB");
    assert_string_equal(estimate_format_blocks(1, 2.2, text), "1 ± 2 blocks");
    assert_string_equal(estimate_format_blocks(1, 0.2, text), "1 ± 0 blocks");
}

TEST(the_largest_numbers_fit)
{
    char text[ESTIMATE_TEXT_BYTES];

    assert_string_equal(estimate_format_blocks(INT64_MIN, INFINITY, text),
                        "-9,223,372,036,854,775,808 ± 4,611,686,018,427,387,904 blocks");
}
