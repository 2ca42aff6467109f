/* SPDX-License-Identifier: MIT */
/* Single lines of heaptrack's format, by version and in raw recordings. */
#include "importer/read/heaptrack_line.h"
#include "tests/lib/unit.h"

#include <string.h>

static struct heaptrack_line parse(struct heaptrack_grammar *grammar, const char *text)
{
    struct heaptrack_line line;

    heaptrack_line_parse(grammar, text, strlen(text), &line);
    return line;
}

static void expect_text(const struct heaptrack_line *line, const char *wanted)
{
    assert_int_equal(line->text_bytes, strlen(wanted));
    assert_memory_equal(line->text, wanted, line->text_bytes);
}

TEST(test_versions)
{
    static const struct {
        const char *text;
        uint32_t tool, file;
    } cases[] = {{"v 10100", 0x10100, 0},   {"v 10200", 0x10200, 1},   {"v 10200 1", 0x10200, 1},
                 {"v 10300 2", 0x10300, 2}, {"v 10400 3", 0x10400, 3}, {"v 10500 3", 0x10500, 3},
                 {"v 20000 9", 0x20000, 9}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct heaptrack_grammar grammar = {0};
        struct heaptrack_line line = parse(&grammar, cases[i].text);
        assert_int_equal(line.kind, HEAPTRACK_VERSION);
        assert_false(line.is_bad);
        assert_int_equal(grammar.tool_version, cases[i].tool);
        assert_int_equal(grammar.file_version, cases[i].file);
        assert_true(parse(&grammar, cases[i].text).is_bad);
    }
}

TEST(test_strings)
{
    struct heaptrack_grammar sized = {.file_version = 3};
    struct heaptrack_grammar plain = {.file_version = 2};
    struct heaptrack_line line;

    line = parse(&sized, "s 5 a b c");
    expect_text(&line, "a b c");
    line = parse(&sized, "s 5 a b c and what follows");
    expect_text(&line, "a b c");
    assert_true(parse(&sized, "s 6 a b c").is_bad);
    assert_true(parse(&sized, "s a b c").is_bad);
    line = parse(&plain, "s 5 a b c");
    expect_text(&line, "5 a b c");
    /* HL-1: the bad ones count. */
    assert_int_equal(sized.n_strings, 4);
}

TEST(test_numbers)
{
    struct heaptrack_grammar grammar = {.file_version = 3};
    struct heaptrack_line line = parse(&grammar, "t ffffffffffffffff 0");

    assert_int_equal(line.a, UINT64_MAX);
    assert_false(line.is_bad);
    assert_true(parse(&grammar, "t 10000000000000000 0").is_bad);
    assert_true(parse(&grammar, "t AB 0").is_bad); /* capital digits are none */
    assert_true(parse(&grammar, "t 12").is_bad);
    assert_true(parse(&grammar, "t -1 0").is_bad);
    assert_int_equal(grammar.n_traces, 5);
}

TEST(test_blocks_by_info)
{
    struct heaptrack_grammar grammar = {.file_version = 1};

    assert_true(parse(&grammar, "+ 0").is_bad);
    assert_false(parse(&grammar, "a 10 0").is_bad);
    assert_int_equal(parse(&grammar, "+ 0").kind, HEAPTRACK_ALLOC);
    assert_false(parse(&grammar, "- 0").is_bad);
    assert_true(parse(&grammar, "- 1").is_bad); /* heaptrack_print itself crashes there */
    assert_true(parse(&grammar, "a ffffffffffffffff 0").is_bad);
    assert_false(parse(&grammar, "- 1").is_bad); /* HL-1 */
}

TEST(test_blocks_by_address)
{
    struct heaptrack_grammar raw = {.file_version = 3, .is_raw = true};
    struct heaptrack_line line = parse(&raw, "+ 18 2 7f00");

    assert_int_equal(line.a, 0x18);
    assert_int_equal(line.b, 2);
    assert_int_equal(line.c, 0x7f00);
    assert_int_equal(parse(&raw, "- 7f00").c, 0x7f00);
    assert_true(parse(&raw, "+ 18 2").is_bad);
    assert_true(parse(&raw, "+ 18 2 ffffffffffffffff").is_bad);
}

TEST(test_clock_never_falls)
{
    struct heaptrack_grammar grammar = {.file_version = 3};

    assert_false(parse(&grammar, "c a").is_bad);
    assert_true(parse(&grammar, "c 9").is_bad);
    assert_false(parse(&grammar, "c a").is_bad);
    assert_int_equal(grammar.last_ms, 10);
}

/* heaptrack 1.4 and later write the length, its own reader does not know. */
TEST(test_suppressions)
{
    static const struct {
        const char *text;
        const char *wanted;
    } cases[] = {{"S b leak:foobar", "leak:foobar"},
                 {"S leak:foobar", "leak:foobar"},
                 {"S a leak:foobar", "a leak:foobar"},
                 {"S # a comment", "# a comment"},
                 {"S 11 leak:with a blank", "leak:with a blank"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct heaptrack_grammar grammar = {.file_version = 3};
        struct heaptrack_line line = parse(&grammar, cases[i].text);
        assert_int_equal(line.kind, HEAPTRACK_SUPPRESSION);
        assert_false(line.is_bad);
        expect_text(&line, cases[i].wanted);
    }
}

/* Arguments are not escaped: a newline in one looks like a line of its own. */
TEST(test_arguments)
{
    struct heaptrack_grammar raw = {.file_version = 3};

    assert_false(parse(&raw, "x 4 /a/b").is_bad);
    assert_int_equal(parse(&raw, "X prog a").kind, HEAPTRACK_ARGUMENTS);
    assert_int_equal(parse(&raw, "+ 0").kind, HEAPTRACK_ARGUMENTS_MORE);
    assert_int_equal(parse(&raw, "").kind, HEAPTRACK_ARGUMENTS_MORE);
    assert_int_equal(parse(&raw, "I 1000 0").kind, HEAPTRACK_SYSTEM);
    assert_int_equal(parse(&raw, "+ 1 0 10").kind, HEAPTRACK_ALLOC);
}

TEST(test_unknown_lines)
{
    struct heaptrack_grammar grammar = {.file_version = 3};

    assert_false(parse(&grammar, "# strings: 4").is_bad);
    assert_false(parse(&grammar, "").is_bad);
    assert_true(parse(&grammar, "q 1").is_bad);
    assert_true(parse(&grammar, "abc").is_bad);
}
