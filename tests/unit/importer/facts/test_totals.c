/* SPDX-License-Identifier: MIT */
#include "importer/facts/totals.h"

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
    for (unsigned i = 0; i < TOTALS_LIFETIME_CLASSES; i++) {
        totals_lifetime_class_bounds(i, &from, &to);
        assert_int_equal(from, next);
        assert_int_equal(totals_lifetime_class(from), i);
        assert_int_equal(totals_lifetime_class(to - 1), i);
        next = to;
    }
    totals_lifetime_class_bounds(1, &from, &to);
    assert_int_equal(from, 100);
    assert_int_equal(to, 200);
    assert_int_equal(totals_lifetime_class(UINT64_MAX), TOTALS_LIFETIME_CLASSES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lifetime_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
