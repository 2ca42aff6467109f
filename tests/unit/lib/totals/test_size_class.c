/* SPDX-License-Identifier: MIT */
#include "lib/totals/size_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

/* Classes touch each other and every size is in the one that its bounds name. */
static void size_classes(void **state)
{
    uint64_t from, to, next = 0;

    (void)state;
    for (unsigned i = 0; i < 160; i++) {
        size_class_bounds(i, &from, &to);
        assert_int_equal(from, next);
        assert_true(to >= from);
        assert_int_equal(size_class_of(from), i);
        assert_int_equal(size_class_of(to), i);
        next = to + 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
