/* SPDX-License-Identifier: MIT */
/*
 * table: text in aligned columns that fit the terminal.
 *
 * Cells are added row by row, left to right, and printed when all widths are known. Columns are two
 * blanks apart. If a line is too wide, headings are first broken at blanks and after "_". Then
 * columns are omitted by rank, and the table ends in a line that counts them. Last, the widest
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

/* A table that is too wide omits columns of a lower rank first, the rightmost of equal rank. A
 * column with the same text in all rows is omitted before all others. */
enum table_rank {
    TABLE_RANK_CONSTANT,
    TABLE_RANK_ID,
    TABLE_RANK_NUMBER,
    TABLE_RANK_TEXT,
    TABLE_RANK_BYTES,
    TABLE_RANK_KEPT, /* never omitted: the rank of a new column */
};

struct table_line {
    size_t after; /* number of cells before the line */
    char *text;
};

/* A cell that names a file. */
struct table_file {
    size_t cell;
    char *path;
};

struct table {
    size_t n_columns;
    bool is_right[TABLE_MAX_COLUMNS];
    bool is_omitted[TABLE_MAX_COLUMNS]; /* set by table_print */
    enum table_rank ranks[TABLE_MAX_COLUMNS];
    char *headings[TABLE_MAX_COLUMNS];
    char **cells; /* row by row */
    size_t n_cells;
    size_t capacity;
    struct table_line *lines;
    size_t n_lines, lines_capacity;
    struct table_file *files;
    size_t n_files, files_capacity;
    bool is_failed;
};

void table_init(struct table *table);
void table_done(struct table *table);

/* Adds a column; add all columns before the first cell. heading is copied. */
void table_add_column(struct table *table, const char *heading, bool is_right);

void table_align_left(struct table *table, size_t column);

void table_rank(struct table *table, size_t column, enum table_rank rank);

void table_add_cell(struct table *table, const char *text);

/* The last cell contains the last component of this path. If another cell of the table names a file
 * of the same name in another folder, both are printed with enough folders to differ. */
void table_name_file(struct table *table, const char *path);

/* Ends the row and fills it with empty cells. */
void table_end_row(struct table *table);

/* Adds a line below the row that was ended last. It does not widen the table. */
void table_add_line(struct table *table, const char *text);

/* width 0: no limit. is_coloured: the heading and "file:line" have colours. */
int table_print(struct table *table, int width, bool is_coloured, FILE *out, struct error *err);

/* The width of UTF-8 text in columns. */
size_t table_text_width(const char *text);

#endif
