/* SPDX-License-Identifier: MIT */
#include "lib/totals/sample_weight.h"
#include "tests/lib/unit.h"

#include <math.h>

TEST(blocks_that_are_no_samples_stand_for_themselves)
{
    struct sample_weight weight = sample_weight_of(0, 100, 7);

    assert_int_equal(weight.blocks, 1);
    assert_int_equal(weight.bytes, 100);
    assert_true(weight.blocks_variance == 0 && weight.bytes_variance == 0);
}

/* By hand: of a block as large as the mean 1 - 1/e = 0.632 are drawn. */
TEST(weights_are_the_inverse_of_the_probability)
{
    struct sample_weight weight = sample_weight_of(4096, 4096, 0);
    struct sample_weight none = sample_weight_of(4096, 0, 0);
    struct sample_weight one = sample_weight_of(4096, 1, 0);
    struct sample_weight large = sample_weight_of(4096, 1 << 20, 0);

    assert_int_equal(weight.bytes, 6480); /* 4096 / 0.6321 */
    assert_true(fabs(weight.bytes_variance - 4096. * 4096 * 0.3679 / (0.6321 * 0.6321)) < 10000);
    assert_int_equal(none.bytes, 0);
    assert_in_range(none.blocks, 4096, 4097); /* 1 / (1 - exp(-1/4096)) = 4096.5 */
    assert_in_range(one.blocks, 4096, 4097);
    assert_int_equal(one.bytes, 4097);
    assert_int_equal(large.blocks, 1);
    assert_int_equal(large.bytes, 1 << 20);
    assert_true(large.bytes_variance < 1);
}

/* SW-1: 1.582 is 1 or 2, and 1.582 on average. */
TEST(rounding_is_right_on_average)
{
    double sum = 0;
    double variance = 0;
    double right = 1 / (1 - exp(-1));

    for (uint64_t salt = 0; salt < 100000; salt++) {
        struct sample_weight weight = sample_weight_of(4096, 4096, salt);
        assert_in_range(weight.blocks, 1, 2);
        sum += (double)weight.blocks;
        variance = weight.blocks_variance;
    }
    assert_true(fabs(sum / 100000 - right) < 0.005); /* 3 standard deviations */
    assert_true(fabs(variance - (exp(-1) * right * right + (right - 1) * (2 - right))) < 1e-9);
}

/* What is written in a row makes the same weight again. */
TEST(a_noted_weight_is_the_same)
{
    for (uint64_t salt = 0; salt < 1000; salt++) {
        uint64_t size = salt * salt;
        struct sample_weight weight = sample_weight_of(4096, size, salt);
        struct sample_weight noted =
            sample_weight_noted(4096, size, sample_weight_is_above(4096, size, salt));
        assert_int_equal(noted.blocks, weight.blocks);
        assert_int_equal(noted.bytes, weight.bytes);
        assert_true(noted.blocks_variance == weight.blocks_variance);
    }
}

TEST(margins_are_1_96_standard_deviations)
{
    assert_true(fabs(sample_weight_margin(100) - 19.6) < 0.01);
    assert_true(sample_weight_margin(0) == 0);
    assert_true(sample_weight_margin(-1e-9) == 0); /* what adding and taking away leaves */
}
