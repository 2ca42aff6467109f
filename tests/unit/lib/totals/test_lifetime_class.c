/* SPDX-License-Identifier: MIT */
#include "lib/totals/lifetime_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

/* Classes touch each other and every lifetime is in the one that its bounds name. */
static void lifetime_classes(void **state)
{
    uint64_t from, to, next = 0;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifetime_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
