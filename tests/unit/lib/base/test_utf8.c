/* SPDX-License-Identifier: MIT */
#include "lib/base/utf8.h"
#include "tests/lib/unit.h"

#include <string.h>

/* needs the headers above */

static void check(const char *text, const char *expected)
{
    char copy[64];

    strcpy(copy, text);
    utf8_clean(copy);
    assert_string_equal(copy, expected);
}

TEST(terminal_control_sequences_are_removed)
{
    check("", "");
    check("a line, as it is", "a line, as it is");
    check("a\x1b[1m\n\xc3\xa4\x7f", "a?[1m?\xc3\xa4?");
    check("\xc2\x9b"
          "2J\xc2\xa0",
          "??2J\xc2\xa0"); /* CSI in one character, and what is none */
    check("\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(invalid_utf8_is_removed)
{
    check("\x9b"
          "2J",
          "?2J");
    check("\xc0\x8a\xe2\x82", "????");
}

TEST(direction_marks_are_removed)
{
    check("a\xe2\x80\xae"
          "b\xe2\x81\xa6"
          "c\xd8\x9c\xe2\x80\xa8",
          "a???b???c?????"); /* U+202E, U+2066, U+061C, U+2028 */
    check("\xe2\x80\x93\xd7\x90\xe2\x80\xaf", "\xe2\x80\x93\xd7\x90\xe2\x80\xaf");
    assert_true(utf8_is_clean("\xd7\x90 plain"));
    assert_false(utf8_is_clean("\xe2\x80\x8f"));
}
