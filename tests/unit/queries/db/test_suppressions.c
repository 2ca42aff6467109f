/* SPDX-License-Identifier: MIT */
/* LeakSanitizer's patterns become GLOBs that SQLite matches as LeakSanitizer would. */
#include "lib/base/error.h"
#include "queries/db/suppressions.h"
#include "tests/lib/unit.h"

#include <string.h>
/* clang-format on */

#include <sqlite3.h>

static int is_match(const char *pattern, const char *name)
{
    char glob[SUPPRESSIONS_PATTERN_BYTES];

    assert_int_equal(suppressions_to_glob(pattern, glob, sizeof(glob), NULL), 0);
    return sqlite3_strglob(glob, name) == 0;
}

TEST(patterns_match_anywhere_unless_tied)
{
    assert_true(is_match("clone", "Session::clone(int)"));
    assert_false(is_match("^clone", "Session::clone"));
    assert_true(is_match("^Session", "Session::clone"));
    assert_true(is_match("clone$", "Session::clone"));
    assert_false(is_match("clone$", "Session::clone(int)"));
    assert_true(is_match("^main$", "main"));
    assert_false(is_match("^main$", "domain"));
    assert_true(is_match("a*z", "xabczx"));
}

TEST(other_special_characters_stand_for_themselves)
{
    assert_true(is_match("operator[]", "X::operator[](int)"));
    assert_false(is_match("operator[]", "X::operator"));
    assert_true(is_match("what?", "what?"));
    assert_false(is_match("what?", "whatx"));
    assert_true(is_match("a$b", "xa$by"));
    assert_true(is_match("a^b", "a^b"));
}

TEST(empty_patterns_are_refused)
{
    static const char *const empty[] = {"", "*", "***", "^", "$", "^$", "^*$"};
    char glob[SUPPRESSIONS_PATTERN_BYTES];

    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        assert_int_equal(suppressions_to_glob(empty[i], glob, sizeof(glob), NULL), ERROR_USAGE);
}

TEST(long_patterns_are_refused)
{
    char pattern[SUPPRESSIONS_PATTERN_BYTES];
    char glob[SUPPRESSIONS_PATTERN_BYTES];

    memset(pattern, '[', sizeof(pattern));
    pattern[sizeof(pattern) - 1] = '\0';
    assert_int_equal(suppressions_to_glob(pattern, glob, sizeof(glob), NULL), ERROR_USAGE);
}
