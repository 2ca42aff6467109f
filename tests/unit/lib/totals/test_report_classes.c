/* SPDX-License-Identifier: MIT */
#include "lib/totals/report_classes.h"
#include "tests/lib/unit.h"

/* Classes touch each other and every size is in the one that its bounds name. */
TEST(size_classes)
{
    uint64_t from, to, next = 0;

    for (unsigned i = 0; i < 160; i++) {
        size_class_bounds(i, &from, &to);
        assert_int_equal(from, next);
        assert_true(to >= from);
        assert_int_equal(size_class_of(from), i);
        assert_int_equal(size_class_of(to), i);
        next = to + 1;
    }
}

/* Classes touch each other and every lifetime is in the one that its bounds name. */
TEST(lifetime_classes)
{
    uint64_t from, to, next = 0;

    for (unsigned i = 0; i < LIFETIME_CLASSES; i++) {
        lifetime_class_bounds(i, &from, &to);
        assert_int_equal(from, next);
        assert_int_equal(lifetime_class_of(from), i);
        assert_int_equal(lifetime_class_of(to - 1), i);
        next = to;
    }
    lifetime_class_bounds(1, &from, &to);
    assert_int_equal(from, 100);
    assert_int_equal(to, 200);
    assert_int_equal(lifetime_class_of(UINT64_MAX), LIFETIME_CLASSES - 1);
}
