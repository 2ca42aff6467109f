/* SPDX-License-Identifier: MIT */
/*
 * report_sql: builds the statement of a report.
 *
 * SELECT columns FROM view WHERE … ORDER BY … LIMIT … OFFSET …, with all values bound. A narrow
 * table has only the columns that the command chose. Without --sort-by the order of the view holds;
 * with it, ids break ties. The limit is one row more than wanted, so that the caller knows whether
 * more exist.
 *
 * With --stacks each row has its stack as text (the view stack_texts). If rows have one stack each,
 * that is used. A call site has many stacks: the one with the largest value in the column
 * command.stacks_by is shown, with its id. For leaks this is the stack that leaked most and is not
 * suppressed.
 *
 * Errors: ERROR_USAGE for a sort key, option or expression that the view does not have; it lists
 * the valid ones.
 */
#ifndef MTRACE_QUERIES_REPORT_SQL_H
#define MTRACE_QUERIES_REPORT_SQL_H

#include <stdbool.h>

struct error;
struct query;
struct sqlite3_stmt;
struct sqlite3_str;

/* condition: of the command itself, or NULL. source: a view or "(SELECT …)"; name: of the source in
 * messages. */
int report_sql_prepare(const struct query *query, const char *source, const char *name,
                       const char *condition, struct sqlite3_stmt **ret_stmt, struct error *err);

/* ---- stacks ---- */

/* Appends a WITH clause; nothing if no stacks are wanted or rows have their own. */
void report_sql_append_stacks_with(const struct query *query, bool has_own,
                                   struct sqlite3_str *sql);

/* Appends the columns. row: the alias of the rows. */
void report_sql_append_stacks_columns(const struct query *query, bool has_own, const char *row,
                                      struct sqlite3_str *sql);

#endif
