/* SPDX-License-Identifier: MIT */
/*
 * filtered_totals: lets every canned view answer for what passes a filter.
 *
 * Model: TEMP tables and views stand in front of the totals of the same name in the file, and the
 *        views, which are TEMP as well, read them. When no row parameter is used, stored totals are
 *        merely selected; otherwise rows are scanned once (row_totals.h).
 */
#ifndef MTRACE_QUERIES_FILTERED_TOTALS_H
#define MTRACE_QUERIES_FILTERED_TOTALS_H

struct error;
struct query;

/* Between rundb_load_views and rundb_lock; does nothing without filters. With --show-sql it
 * prints the statement that stands behind the totals. */
int filtered_totals_install(struct query *query, struct error *err);

#endif
