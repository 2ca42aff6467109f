/* SPDX-License-Identifier: MIT */
/*
 * row_totals: the totals of the rows that pass a filter, by one scan.
 *
 * Model: one SELECT over allocation rows, summed here by process and stack (and by the stack that
 *        freed), because SQLite's own GROUP BY over millions of rows sorts them. The sums become
 *        TEMP tables named as the ones in the file, so that every view over totals answers for the
 *        filtered rows. What only the order of events tells (own peaks, reallocs) is NULL there.
 * Memory: with distinct stacks, not with rows.
 */
#ifndef MTRACE_QUERIES_ROW_TOTALS_H
#define MTRACE_QUERIES_ROW_TOTALS_H

struct rundb;
struct error;
struct filter_sql;
struct sqlite3_stmt;

/* The scan, for who wants to show it: sqlite3_free it, NULL: no memory. */
char *row_totals_sql(const struct filter_sql *filter);

/* Fills temp.backtrace_totals and temp.free_sites, which exist and are empty. */
int row_totals_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
