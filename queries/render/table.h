/* SPDX-License-Identifier: MIT */
/*
 * table: text in aligned columns that fit the terminal.
 *
 * Model: rows are collected cell by cell, left to right, then printed once, when all widths are
 *        known. Columns are two blanks apart. When a line is too wide, first headings go over
 *        several lines, broken behind "_", then the widest left-aligned columns are cut and end
 *        in ".."; in "function  file:line" it is the function that is cut. Lines below a row go across all columns.
 * Invariants: T-1 control characters never reach the output: names come from foreign binaries.
 *        T-2 no line ends in blanks. T-3 a character is one column wide, however many bytes it has.
 * Failure: out of memory is remembered and returned by table_print as ERROR_NOMEM.
 */
#ifndef MTRACE_QUERIES_TABLE_H
#define MTRACE_QUERIES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct error;

enum {
    TABLE_MAX_COLUMNS = 64,
    TABLE_GAP = 2,
    TABLE_HEADING_BYTES = 256
};

struct table_line {
    size_t after; /* so many cells */
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

/* Adds a column; all columns come before the first cell. heading is copied. */
void table_add_column(struct table *table, const char *heading, bool is_right);

void table_align_left(struct table *table, size_t column);

void table_add_cell(struct table *table, const char *text);

/* Starts the printed line after a row with as many empty cells as needed to end it. */
void table_end_row(struct table *table);

/* A line below the row that was ended last, which does not widen the table. */
void table_add_line(struct table *table, const char *text);

/* width 0: no limit. colour: the heading is dimmed. */
int table_print(const struct table *table, int width, bool is_coloured, FILE *out,
                struct error *err);

/* Columns that UTF-8 text takes. */
size_t table_text_width(const char *text);

#endif
