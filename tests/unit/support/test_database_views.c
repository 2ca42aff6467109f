/* SPDX-License-Identifier: MIT */
/* Every view that is embedded is found, and there is room for the tables that stand in for some. */
#include "support/database_views.h"
#include "support/embedded_sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

enum {
    MOST_TABLES = 16
};

static size_t count(const struct embedded_sql *part)
{
    static const char create[] = "\nCREATE VIEW ";
    size_t n = 0;

    for (; part->name; part++)
        for (const char *at = strstr(part->text, create); at; at = strstr(at + 1, create))
            n++;
    return n;
}

static void test_all_are_found(void **state)
{
    static struct database_views views;
    const size_t n = count(embedded_schema) + count(embedded_views);

    (void)state;
    assert_true(n > 0);
    database_views_find(&views);
    assert_int_equal(views.n, n);
    assert_true(n + MOST_TABLES <= DATABASE_VIEWS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_are_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
