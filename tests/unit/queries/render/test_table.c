/* SPDX-License-Identifier: MIT */
/* Tables align, fit their width, and let no control character through. */
#include "queries/render/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

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

static void columns_align(void **state)
{
    struct table table = make_table();

    (void)state;
    table_add_cell(&table, "12 B");
    table_add_cell(&table, "main");
    table_add_cell(&table, "3.0 KiB");
    table_end_row(&table);
    assert_printed(&table, 0, "leaked_bytes  where\n        12 B  main\n     3.0 KiB\n");
}

static void lines_below_a_row_widen_no_column(void **state)
{
    struct table table = make_table();

    (void)state;
    table_add_cell(&table, "12 B");
    table_add_cell(&table, "main");
    table_add_line(&table, "    a line that is longer than its table");
    table_add_line(&table, "    another");
    table_add_cell(&table, "3.0 KiB");
    table_end_row(&table);
    table_add_line(&table, "    last\n");
    assert_printed(&table, 30,
                   "leaked_bytes  where\n        12 B  main\n    a line that is longer th..\n"
                   "    another\n     3.0 KiB\n    last?\n");
}

static void headings_break_before_cells_are_cut(void **state)
{
    struct table table = make_table();

    (void)state;
    table_add_cell(&table, "3.0 KiB");
    table_add_cell(&table, "a_function_with_a_long_name_indeed");
    assert_printed(&table, 40,
                   "leaked_\n  bytes  where\n3.0 KiB  a_function_with_a_long_name_i..\n");
}

static void a_character_is_one_column(void **state)
{
    struct table table = make_table();

    (void)state;
    assert_int_equal(table_text_width("\xc3\xbc\xe2\x82\xac"), 2);
    table_add_cell(&table, "\xc3\xbc");
    table_add_cell(&table, "x");
    assert_printed(&table, 0, "leaked_bytes  where\n           \xc3\xbc  x\n");
}

static void control_characters_are_replaced(void **state)
{
    struct table table = make_table();

    (void)state;
    table_add_cell(&table, "\033[31m");
    table_add_cell(&table, "a\nb\177");
    assert_printed(&table, 0, "leaked_bytes  where\n       ?[31m  a?b?\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_align),
        cmocka_unit_test(lines_below_a_row_widen_no_column),
        cmocka_unit_test(headings_break_before_cells_are_cut),
        cmocka_unit_test(a_character_is_one_column),
        cmocka_unit_test(control_characters_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
