/* SPDX-License-Identifier: MIT */
/*
 * passed_ids: the ids of rows that pass a filter, as a table for joins. SQLite moves a large table
 * to a temporary file.
 */
#ifndef MTRACE_QUERIES_PASSED_IDS_H
#define MTRACE_QUERIES_PASSED_IDS_H

struct error;
struct filter_sql;
struct rundb;

/* Creates temp._passed(id). condition: a further " AND …" over allocation_rows AS a, or "". */
int passed_ids_fill(struct rundb *database, const struct filter_sql *filter, const char *condition,
                    struct error *err);

#endif
