/* SPDX-License-Identifier: MIT */
#include "lib/base/json_text.h"
#include "tests/lib/unit.h"

static void check(const char *text, const char *expected)
{
    char *written = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&written, &size);

    assert_non_null(out);
    json_text_put(out, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(written, expected);
    free(written);
}

TEST(plain_text_is_quoted)
{
    check("", "\"\"");
    check(NULL, "\"\"");
    check("operator new(unsigned long)", "\"operator new(unsigned long)\"");
}

TEST(characters_that_json_forbids_are_escaped)
{
    check("a\"b\\c", "\"a\\\"b\\\\c\"");
    check("\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"");
    check("\xc2\x9b\xd8\x9c\xe2\x80\xae", "\"\\u009b\\u061c\\u202e\"");
}

TEST(characters_stay)
{
    check("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
          "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

/* Latin-1, a lone tail, a cut character, an overlong slash, a surrogate, one above U+10FFFF. */
TEST(bytes_that_are_no_text_are_replaced)
{
    check("\xfc!", "\"\\ufffd!\"");
    check("\x80", "\"\\ufffd\"");
    check("\xe2\x82", "\"\\ufffd\\ufffd\"");
    check("\xc0\xaf", "\"\\ufffd\\ufffd\"");
    check("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}
