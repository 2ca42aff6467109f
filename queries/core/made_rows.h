/* SPDX-License-Identifier: MIT */
/*
 * made_rows: rows that were computed here, shown as those of a report.
 *
 * Model: rows are collected as JSON and read back by a SELECT over them, so that --sort-by,
 *        --fail-if, --count, --skip and all formats hold for them as for views. Column names carry
 *        their units (column.h).
 * Failure: out of memory is remembered and returned by made_rows_show as ERROR_NOMEM.
 */
#ifndef MTRACE_QUERIES_MADE_ROWS_H
#define MTRACE_QUERIES_MADE_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;

struct made_rows {
    const char *columns; /* comma-separated */
    FILE *out;           /* what makes json; NULL: no memory, or it is finished */
    char *json;
    size_t n_bytes;
    int64_t n;
};

/* columns: "bytes,blocks,function"; must live as long. Call made_rows_done in any case. */
void made_rows_init(struct made_rows *rows, const char *columns);
void made_rows_done(struct made_rows *rows);

/* One call per column, left to right. */
void made_rows_begin(struct made_rows *rows);
void made_rows_add_int64(struct made_rows *rows, int64_t value);
void made_rows_add_share(struct made_rows *rows, double value);
void made_rows_add_text(struct made_rows *rows, const char *text); /* NULL: NULL */
void made_rows_add_null(struct made_rows *rows);
void made_rows_end(struct made_rows *rows);

/* name: of the report in messages; next: as in struct command, printed below a table. */
int made_rows_show(struct made_rows *rows, struct query *query, struct error *err);

#endif
