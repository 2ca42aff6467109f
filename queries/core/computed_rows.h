/* SPDX-License-Identifier: MIT */
/*
 * computed_rows: shows rows that a command computed, like those of a report.
 *
 * The rows are collected as JSON and read back by a SELECT, so that --sort-by, --fail-if, --count,
 * --skip and all formats work as for views. Column names carry units (column.h).
 *
 * Errors: computed_rows_show returns ERROR_NOMEM if any earlier call ran out of memory.
 */
#ifndef MTRACE_QUERIES_COMPUTED_ROWS_H
#define MTRACE_QUERIES_COMPUTED_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

struct computed_rows {
    const char *columns; /* comma-separated */
    FILE *out;           /* writes to json; NULL: no memory, or finished */
    char *json;
    size_t n_bytes;
    int64_t n;
};

/* columns: "bytes,blocks,function", must live as long as the rows. Call computed_rows_done also
 * after a failure. */
void computed_rows_init(struct computed_rows *rows, const char *columns);
void computed_rows_done(struct computed_rows *rows);

/* One call per column, left to right. */
void computed_rows_begin(struct computed_rows *rows);
void computed_rows_add_int64(struct computed_rows *rows, int64_t value);
void computed_rows_add_share(struct computed_rows *rows, double value);
void computed_rows_add_text(struct computed_rows *rows, const char *text); /* NULL: NULL */
void computed_rows_add_null(struct computed_rows *rows);
void computed_rows_end(struct computed_rows *rows);

/* Prints the rows. */
int computed_rows_show(struct computed_rows *rows, struct query *query, struct error *err);

#endif
