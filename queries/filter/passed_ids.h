/* SPDX-License-Identifier: MIT */
/*
 * passed_ids: the ids of rows that pass a filter, as a table that other statements join.
 *
 * Memory: SQLite's for a table of numbers, which goes to a temporary file where it is large.
 */
#ifndef MTRACE_QUERIES_PASSED_IDS_H
#define MTRACE_QUERIES_PASSED_IDS_H

struct error;
struct filter_sql;
struct rundb;

/* Makes temp._passed(id). condition: " AND …" over allocation_rows AS a besides, or "". */
int passed_ids_fill(struct rundb *database, const struct filter_sql *filter, const char *condition,
                    struct error *err);

#endif
