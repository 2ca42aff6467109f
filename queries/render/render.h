/* SPDX-License-Identifier: MIT */
/*
 * render: prints the rows of a statement as a table for people, or as json or csv for programs.
 *
 * A table is collected, formatted with units and shortened names, and fits the terminal. Its
 * headings are words for people (column.h). Its columns function, source, line and module become
 * one column "where". json is an array with one object per row; csv is RFC 4180 with a header line
 * and "\n". Both are written row by row with raw values under the column names of the statement.
 *
 * Errors: ERROR_DATABASE from stepping. The caller checks ferror(out) for write errors.
 */
#ifndef MTRACE_QUERIES_RENDER_H
#define MTRACE_QUERIES_RENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rundb;
struct error;
struct sqlite3_stmt;

enum render_format {
    RENDER_TABLE,
    RENDER_JSON,
    RENDER_CSV,
};

struct render_style {
    enum render_format format;
    int width;        /* of the terminal; 0: no limit */
    bool is_wide;     /* names and paths in full, all columns unchanged */
    bool is_terminal; /* binary output is refused */
    bool is_coloured;
    bool has_sql_names; /* tables have the statement's own names as headings, and all columns */
    /* Called with each row of a table; NULL: none. */
    void (*see_row)(void *context, struct sqlite3_stmt *row);
    void *see_context;
    bool has_process;        /* keep process_id in tables: there are several processes */
    const char *json_column; /* its text is JSON and is written as it is; NULL: none */
};

/* "table", "json" or "csv". */
int render_format_parse(const char *text, enum render_format *ret_format, struct error *err);

/* Prints at most max_rows rows (negative: all). ret_n_rows may be NULL. ret_has_more: rows are
 * left; may be NULL. */
int render_statement(const struct rundb *database, struct sqlite3_stmt *stmt,
                     const struct render_style *style, int64_t max_rows, FILE *out,
                     int64_t *ret_n_rows, struct error *err);

#endif
