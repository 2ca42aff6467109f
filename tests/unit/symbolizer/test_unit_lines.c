/* SPDX-License-Identifier: MIT */
#include "symbolizer/unit_lines.h"
#include "tests/lib/unit.h"

#include <string.h>

static void assert_path(const char *directory, const char *file, const char *expected)
{
    char path[64];

    assert_int_equal(unit_lines_normalize_path(directory, file, path, sizeof(path)),
                     strlen(expected));
    assert_string_equal(path, expected);
}

TEST(absolute_paths_are_folded)
{
    assert_path(NULL, "/a/b.c", "/a/b.c");
    assert_path("/ignored", "/a/b.c", "/a/b.c");
    assert_path(NULL, "//a///./b.c", "/a/b.c");
    assert_path(NULL, "/a/../b.c", "/b.c");
    assert_path(NULL, "/../../b.c", "/b.c");
    assert_path(NULL, "/a/b/..", "/a");
    assert_path(NULL, "/a/..", "/");
    assert_path(NULL, "/..a/.b/...", "/..a/.b/...");
}

TEST(relative_paths_are_joined)
{
    assert_path("/build/x", "../src/a.c", "/build/src/a.c");
    assert_path("/build/x/", "./a.c", "/build/x/a.c");
    assert_path("./malloc", "malloc.c", "malloc/malloc.c");
    assert_path("./setjmp", "../sysdeps/setjmp.S", "sysdeps/setjmp.S");
    assert_path(NULL, "../../a.c", "../../a.c");
    assert_path("x", "../../a.c", "../a.c");
    assert_path("..", "../a.c", "../../a.c");
    assert_path("", "a.c", "a.c");
}

TEST(paths_beyond_the_buffer_are_empty)
{
    char path[8];

    assert_int_equal(unit_lines_normalize_path(NULL, "/abcdef", path, sizeof(path)), 7);
    assert_int_equal(unit_lines_normalize_path(NULL, "/abcdefg", path, sizeof(path)), 0);
    assert_int_equal(unit_lines_normalize_path(NULL, "/abcdefg/..", path, sizeof(path)), 0);
    assert_int_equal(unit_lines_normalize_path(NULL, "a", path, 1), 0);
}
