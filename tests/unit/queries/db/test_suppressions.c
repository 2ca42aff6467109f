/* SPDX-License-Identifier: MIT */
/* LeakSanitizer's patterns become GLOBs that SQLite matches as LeakSanitizer would. */
#include "lib/base/error.h"
#include "queries/db/suppressions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>
/* clang-format on */

#include <sqlite3.h>

static int is_match(const char *pattern, const char *name)
{
    char glob[SUPPRESSIONS_PATTERN_BYTES];

    assert_int_equal(suppressions_to_glob(pattern, glob, sizeof(glob), NULL), 0);
    return sqlite3_strglob(glob, name) == 0;
}

static void patterns_match_anywhere_unless_tied(void **state)
{
    (void)state;
    assert_true(is_match("clone", "Session::clone(int)"));
    assert_false(is_match("^clone", "Session::clone"));
    assert_true(is_match("^Session", "Session::clone"));
    assert_true(is_match("clone$", "Session::clone"));
    assert_false(is_match("clone$", "Session::clone(int)"));
    assert_true(is_match("^main$", "main"));
    assert_false(is_match("^main$", "domain"));
    assert_true(is_match("a*z", "xabczx"));
}

static void other_special_characters_stand_for_themselves(void **state)
{
    (void)state;
    assert_true(is_match("operator[]", "X::operator[](int)"));
    assert_false(is_match("operator[]", "X::operator"));
    assert_true(is_match("what?", "what?"));
    assert_false(is_match("what?", "whatx"));
    assert_true(is_match("a$b", "xa$by"));
    assert_true(is_match("a^b", "a^b"));
}

static void empty_patterns_are_refused(void **state)
{
    static const char *const empty[] = {"", "*", "***", "^", "$", "^$", "^*$"};
    char glob[SUPPRESSIONS_PATTERN_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        assert_int_equal(suppressions_to_glob(empty[i], glob, sizeof(glob), NULL), ERROR_USAGE);
}

static void long_patterns_are_refused(void **state)
{
    char pattern[SUPPRESSIONS_PATTERN_BYTES];
    char glob[SUPPRESSIONS_PATTERN_BYTES];

    (void)state;
    memset(pattern, '[', sizeof(pattern));
    pattern[sizeof(pattern) - 1] = '\0';
    assert_int_equal(suppressions_to_glob(pattern, glob, sizeof(glob), NULL), ERROR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_anywhere_unless_tied),
        cmocka_unit_test(other_special_characters_stand_for_themselves),
        cmocka_unit_test(empty_patterns_are_refused),
        cmocka_unit_test(long_patterns_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
