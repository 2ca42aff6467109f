/* SPDX-License-Identifier: MIT */
/*
 * table: text in aligned columns that fit the terminal.
 *
 * Cells are added row by row, left to right, and printed when all widths are known. Columns are two
 * blanks apart. If a line is too wide, headings are first broken after "_". Then the widest
 * left-aligned columns are cut and end in ".."; in "function  file:line" only the function is cut.
 * Lines below a row span all columns.
 *
 * Invariants
 *   T-1 Control characters never reach the output: names come from untrusted binaries.
 *   T-2 No line ends in blanks.
 *   T-3 A character is one column wide, however many bytes it has.
 *
 * Errors: table_print returns ERROR_NOMEM if any earlier call ran out of memory.
 */
#ifndef MTRACE_QUERIES_TABLE_H
#define MTRACE_QUERIES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;

enum {
    TABLE_MAX_COLUMNS = 96,
    TABLE_GAP = 2,
    TABLE_HEADING_BYTES = 256
};

struct table_line {
    size_t after; /* number of cells before the line */
    char *text;
};

struct table {
    size_t n_columns;
    bool is_right[TABLE_MAX_COLUMNS];
    char *headings[TABLE_MAX_COLUMNS];
    char **cells; /* row by row */
    size_t n_cells;
    size_t capacity;
    struct table_line *lines;
    size_t n_lines, lines_capacity;
    bool is_failed;
};

void table_init(struct table *table);
void table_done(struct table *table);

/* Adds a column; add all columns before the first cell. heading is copied. */
void table_add_column(struct table *table, const char *heading, bool is_right);

void table_align_left(struct table *table, size_t column);

void table_add_cell(struct table *table, const char *text);

/* Ends the row and fills it with empty cells. */
void table_end_row(struct table *table);

/* Adds a line below the row that was ended last. It does not widen the table. */
void table_add_line(struct table *table, const char *text);

/* width 0: no limit. is_coloured: the heading is dimmed. */
int table_print(const struct table *table, int width, bool is_coloured, FILE *out,
                struct error *err);

/* The width of UTF-8 text in columns. */
size_t table_text_width(const char *text);

#endif
