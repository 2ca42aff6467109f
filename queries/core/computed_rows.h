/* SPDX-License-Identifier: MIT */
/*
 * made_rows: rows that were computed here, shown as those of a report.
 *
 * Model: rows are collected as JSON and read back by a SELECT over them, so that --sort-by,
 *        --fail-if, --count, --skip and all formats hold for them as for views. Column names carry
 *        their units (column.h).
 * Failure: out of memory is remembered and returned by computed_rows_show as ERROR_NOMEM.
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
    FILE *out;           /* what makes json; NULL: no memory, or it is finished */
    char *json;
    size_t n_bytes;
    int64_t n;
};

/* columns: "bytes,blocks,function"; must live as long. Call computed_rows_done in any case. */
void computed_rows_init(struct computed_rows *rows, const char *columns);
void computed_rows_done(struct computed_rows *rows);

/* One call per column, left to right. */
void computed_rows_begin(struct computed_rows *rows);
void computed_rows_add_int64(struct computed_rows *rows, int64_t value);
void computed_rows_add_share(struct computed_rows *rows, double value);
void computed_rows_add_text(struct computed_rows *rows, const char *text); /* NULL: NULL */
void computed_rows_add_null(struct computed_rows *rows);
void computed_rows_end(struct computed_rows *rows);

/* name: of the report in messages; next: as in struct command, printed below a table. */
int computed_rows_show(struct computed_rows *rows, struct query *query, struct error *err);

#endif
