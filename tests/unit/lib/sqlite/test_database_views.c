/* SPDX-License-Identifier: MIT */
/* Every embedded view is found, and any number of tables may replace some. */
#include "lib/sqlite/database_views.h"
#include "lib/sqlite/embedded_sql.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

static size_t count(const struct embedded_sql *part)
{
    static const char create[] = "\nCREATE VIEW ";
    size_t n = 0;

    for (; part->name; part++)
        for (const char *at = strstr(part->text, create); at; at = strstr(at + 1, create))
            n++;
    return n;
}

TEST(test_all_are_found)
{
    struct database_views views;
    const size_t n = count(embedded_schema) + count(embedded_views);
    static char names[200][8];

    assert_true(n > 0);
    assert_int_equal(database_views_find(&views, NULL), 0);
    assert_int_equal(views.n, n);
    for (size_t i = 0; i < 200; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "made%zu", i);
        assert_int_equal(database_views_add_table(&views, names[i], NULL), 0);
    }
    assert_int_equal(database_views_add_table(&views, "made7 AS SELECT 1", NULL), 0);
    assert_int_equal(views.n, n + 200);
    assert_string_equal(views.items[n + 199].definition, "made199");
    database_views_done(&views);
}
