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

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct filter;
struct rundb;

/* Between rundb_load_views and rundb_lock; does nothing without filters. process_id 0: all.
 * is_over_time: the shape of growth is laid anew, too. show_sql: not NULL: prints the statement that
 * stands behind the totals there, and leaves them empty. */
int filtered_totals_install(struct rundb *database, const struct filter *filter, int64_t process_id,
                            bool is_over_time, FILE *show_sql, struct error *err);

#endif
