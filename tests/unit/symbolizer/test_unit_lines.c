/* SPDX-License-Identifier: MIT */
#include "symbolizer/unit_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static void assert_path(const char *directory, const char *file, const char *expected)
{
    char path[64];

    assert_int_equal(unit_lines_normalize_path(directory, file, path, sizeof(path)),
                     strlen(expected));
    assert_string_equal(path, expected);
}

static void absolute_paths_are_folded(void **state)
{
    (void)state;
    assert_path(NULL, "/a/b.c", "/a/b.c");
    assert_path("/ignored", "/a/b.c", "/a/b.c");
    assert_path(NULL, "//a///./b.c", "/a/b.c");
    assert_path(NULL, "/a/../b.c", "/b.c");
    assert_path(NULL, "/../../b.c", "/b.c");
    assert_path(NULL, "/a/b/..", "/a");
    assert_path(NULL, "/a/..", "/");
    assert_path(NULL, "/..a/.b/...", "/..a/.b/...");
}

static void relative_paths_are_joined(void **state)
{
    (void)state;
    assert_path("/build/x", "../src/a.c", "/build/src/a.c");
    assert_path("/build/x/", "./a.c", "/build/x/a.c");
    assert_path("./malloc", "malloc.c", "malloc/malloc.c");
    assert_path("./setjmp", "../sysdeps/setjmp.S", "sysdeps/setjmp.S");
    assert_path(NULL, "../../a.c", "../../a.c");
    assert_path("x", "../../a.c", "../a.c");
    assert_path("..", "../a.c", "../../a.c");
    assert_path("", "a.c", "a.c");
}

static void what_does_not_fit_is_nothing(void **state)
{
    char path[8];

    (void)state;
    assert_int_equal(unit_lines_normalize_path(NULL, "/abcdef", path, sizeof(path)), 7);
    assert_int_equal(unit_lines_normalize_path(NULL, "/abcdefg", path, sizeof(path)), 0);
    assert_int_equal(unit_lines_normalize_path(NULL, "/abcdefg/..", path, sizeof(path)), 0);
    assert_int_equal(unit_lines_normalize_path(NULL, "a", path, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute_paths_are_folded),
        cmocka_unit_test(relative_paths_are_joined),
        cmocka_unit_test(what_does_not_fit_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
