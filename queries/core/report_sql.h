/* SPDX-License-Identifier: MIT */
/*
 * report_sql: builds the statement of a report.
 *
 * SELECT columns FROM view WHERE … ORDER BY … LIMIT … OFFSET …, with all values bound. A narrow
 * table has only the columns that the command chose. Without --sort-by the order of the view holds;
 * with it, ids break ties. The limit is one row more than wanted, so that the caller knows whether
 * more exist.
 *
 * Errors: ERROR_USAGE for a sort key, option or expression that the view does not have; it lists
 * the valid ones.
 */
#ifndef MTRACE_QUERIES_REPORT_SQL_H
#define MTRACE_QUERIES_REPORT_SQL_H

struct error;
struct query;
struct sqlite3_stmt;

/* condition: of the command itself, or NULL. source: a view or "(SELECT …)"; name: of the source in
 * messages. */
int report_sql_prepare(const struct query *query, const char *source, const char *name,
                       const char *condition, struct sqlite3_stmt **ret_stmt, struct error *err);

#endif
