/* SPDX-License-Identifier: MIT */
/*
 * report_sql: the statement of a report: one view, restricted, sorted and cut as the options say.
 *
 * Model: SELECT columns (a narrow table shows the command's own choice) FROM view WHERE … ORDER BY
 * … LIMIT … OFFSET …, every value bound. Without
 *        --sort-by the view's own order holds. With it, ids break ties. One row more than wanted is
 *        asked for, so that the caller can say that there are more.
 * Failure: ERROR_USAGE names a sort key, option or expression that the view does not know, and
 *        lists what it does.
 */
#ifndef MTRACE_QUERIES_REPORT_SQL_H
#define MTRACE_QUERIES_REPORT_SQL_H

struct error;
struct query;
struct sqlite3_stmt;

/* condition: of the command itself, may be NULL. source: a view, or a "(SELECT …)" with its name in
 * the messages. */
int report_sql_prepare(const struct query *query, const char *source, const char *name,
                       const char *condition, struct sqlite3_stmt **ret_stmt, struct error *err);

#endif
