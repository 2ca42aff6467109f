/* SPDX-License-Identifier: MIT */
/*
 * charge_rows: computes group_totals and tag_totals from the rows that pass a filter.
 *
 * There is an account for each process and group, and for each process and tag, as in the importer.
 * A row names the last group of its block. group_moves names the earlier ones; its rows come in the
 * order of ids, like allocation rows.
 *
 * Invariants
 *   CH-1 For all rows the tables equal those of the file, except for elided blocks, which have no
 *        row.
 *   CH-2 For any rows and each account, in blocks and bytes: allocated + moved in = freed + moved
 *        out + live.
 *   CH-3 Without groups both tables are empty: everything belongs to the root.
 *
 * Memory: grows with groups, tags and the blocks that are live at the same time.
 */
#ifndef MTRACE_QUERIES_CHARGE_ROWS_H
#define MTRACE_QUERIES_CHARGE_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Creates temp.group_totals and temp.tag_totals. */
int charge_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
