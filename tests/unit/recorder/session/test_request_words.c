/* SPDX-License-Identifier: MIT */
/* Words are split as a shell splits them, without any expansion. */
#include "recorder/session/request_words.h"
#include "tests/lib/unit.h"

#include <string.h>
#include <wordexp.h>

static void check_as_shell(const char *text)
{
    struct request_words words;
    wordexp_t expected;

    assert_null(request_words_split(&words, text));
    assert_true(wordexp(text, &expected, WRDE_NOCMD) == 0);
    assert_true(words.n == expected.we_wordc);
    for (size_t i = 0; i < words.n; i++)
        assert_true(strcmp(words.words[i], expected.we_wordv[i]) == 0);
    wordfree(&expected);
}

static void check_one(const char *text, const char *expected)
{
    struct request_words words;

    assert_null(request_words_split(&words, text));
    assert_true(words.n == 1 && strcmp(words.words[0], expected) == 0);
}

TEST(words_are_those_of_a_shell)
{
    static const char *const same[] = {"",
                                       "  ",
                                       "groups",
                                       " groups\t--size-min  4KiB ",
                                       "sql 'SELECT \"a\" FROM b'",
                                       "sql \"SELECT 'a' \\\" \\\\ \\x\"",
                                       "a\\ b 'c'\"d\"e ''",
                                       "--x='1 2' \\'"};
    static const char *const left_alone[] = {"$HOME", "~",   "/et?/pass*d", "[a-z]", "`id`",
                                             "$(id)", "a|b", "{a,b}",       "#"};
    static const char *const unclosed[][2] = {{"'", "quote '"},
                                              {"\"a", "quote \""},
                                              {"a \\", "behind the \\"},
                                              {"a 'b\\'c'", "quote '"},
                                              {"leaks 'un\"closed", "quote '"}};
    char most[2 * (REQUEST_WORDS_MAX + 1) + 1];
    char longest[REQUEST_WORDS_BYTES + 1];
    struct request_words words;

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        check_as_shell(same[i]);
    for (size_t i = 0; i < sizeof(left_alone) / sizeof(left_alone[0]); i++)
        check_one(left_alone[i], left_alone[i]);
    check_one("\"$HOME `id`\"", "$HOME `id`");
    for (size_t i = 0; i < sizeof(unclosed) / sizeof(unclosed[0]); i++)
        assert_non_null(strstr(request_words_split(&words, unclosed[i][0]), unclosed[i][1]));
    for (size_t i = 0; i <= REQUEST_WORDS_MAX; i++)
        memcpy(most + 2 * i, "w ", 3);
    assert_non_null(strstr(request_words_split(&words, most), "many words"));
    most[2 * REQUEST_WORDS_MAX] = '\0';
    assert_true(!request_words_split(&words, most) && words.n == REQUEST_WORDS_MAX);
    memset(longest, 'x', sizeof(longest));
    longest[REQUEST_WORDS_BYTES] = '\0';
    assert_non_null(strstr(request_words_split(&words, longest), "too long"));
    longest[REQUEST_WORDS_BYTES - 1] = '\0';
    assert_true(!request_words_split(&words, longest) && words.n == 1);
}
