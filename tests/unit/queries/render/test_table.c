/* SPDX-License-Identifier: MIT */
/* Tables align, fit their width, and let no control character through. */
#include "queries/render/table.h"
#include "tests/lib/unit.h"

#include <string.h>

/* Prints and frees the table. */
static void assert_printed(struct table *table, int width, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(table_print(table, width, false, out, NULL), 0);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    free(text);
    table_done(table);
}

static struct table make_table(void)
{
    struct table table;

    table_init(&table);
    table_add_column(&table, "leaked_bytes", true);
    table_add_column(&table, "where", false);
    return table;
}

TEST(a_character_is_one_column)
{
    struct table table = make_table();

    assert_int_equal(table_text_width("\xc3\xbc\xe2\x82\xac"), 2);
    table_add_cell(&table, "\xc3\xbc");
    table_add_cell(&table, "x");
    assert_printed(&table, 0, "leaked_bytes  where\n           \xc3\xbc  x\n");
}

TEST(control_characters_are_replaced)
{
    struct table table = make_table();

    table_add_cell(&table, "\033[31m");
    table_add_cell(&table, "a\nb\177");
    assert_printed(&table, 0, "leaked_bytes  where\n       ?[31m  a?b?\n");
}

/* Constants go first, then the least rank, then the rightmost column; the place is not cut. */
TEST(narrow_tables_omit_columns_by_rank)
{
    static const char *const cells[] = {"3.0 s", "12 B", "1", "main  main.c:1",  "7",
                                        "3.0 s", "3 B",  "2", "other  main.c:9", "8"};
    struct table table;

    table_init(&table);
    table_add_column(&table, "peak at", true);
    table_rank(&table, 0, TABLE_RANK_BYTES);
    table_add_column(&table, "bytes", true);
    table_add_column(&table, "blocks", true);
    table_rank(&table, 2, TABLE_RANK_NUMBER);
    table_add_column(&table, "where", false);
    table_add_column(&table, "site", true);
    table_rank(&table, 4, TABLE_RANK_ID);
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        table_add_cell(&table, cells[i]);
    assert_printed(&table, 31,
                   "bytes  blocks  where\n 12 B       1  main  main.c:1\n"
                   "  3 B       2  other  main.c:9\n2 more columns: --wide\n");
}
