/* SPDX-License-Identifier: MIT */
/*
 * report: an answer that is one SELECT, filtered, sorted, limited and rendered as the options say
 * (report_sql.h). Below a table it prints how many rows are left and the next command.
 */
#ifndef MTRACE_QUERIES_REPORT_H
#define MTRACE_QUERIES_REPORT_H

#include <stdint.h>

struct error;
struct filter_sql;
struct query;
struct sqlite3_stmt;

/* The run function of commands that print their `source`, or else their `view`. */
int report_run(struct query *query, struct error *err);

/* Prints the rows of a statement, that there are more, and the command one level deeper (`next` and
 * `next_tail` as in command.h; NULL: those of the query's command). */
int report_print(struct query *query, struct sqlite3_stmt *stmt, const char *next,
                 const char *next_tail, int64_t *ret_n_rows, struct error *err);

/* The same from another source: a view or a "(SELECT …)". */
int report_show(struct query *query, const char *source, struct error *err);

/* The same for a "(SELECT …)" whose first parameters are the values of a filter. */
int report_show_filtered(struct query *query, const char *source, const struct filter_sql *filter,
                         struct error *err);

/* The same for computed rows: source reads json_each(:made_rows). */
int report_show_made(struct query *query, const char *source, const char *made_rows,
                     struct error *err);

#endif
