/* SPDX-License-Identifier: MIT */
#include "lib/base/lower_bound.h"
#include "tests/lib/unit.h"

enum {
    MOST = 40
};

/* Arrays of every length, with equal elements: the same result as by counting. */
TEST(finds_what_counting_finds)
{
    uint32_t sorted[MOST];

    for (size_t i = 0; i < MOST; i++)
        sorted[i] = (uint32_t)(i / 3 * 2);
    for (size_t n = 0; n <= MOST; n++) {
        for (uint32_t wanted = 0; wanted < MOST; wanted++) {
            size_t n_below = 0;
            size_t index = SIZE_MAX;

            while (n_below < n && sorted[n_below] < wanted)
                n_below++;
            LOWER_BOUND(index, n, sorted[index] < wanted);
            assert_int_equal(index, n_below);
        }
    }
}

static int n_asked;

static int ask(size_t index, size_t wanted)
{
    n_asked++;
    return index < wanted;
}

/* A million elements are asked 20 times. */
TEST(compares_few_elements)
{
    size_t index;

    for (size_t wanted = 0; wanted <= 1000000; wanted += 12345) {
        n_asked = 0;
        LOWER_BOUND(index, 1000000, ask(index, wanted));
        assert_int_equal(index, wanted);
        assert_true(n_asked <= 20);
    }
}
