/* SPDX-License-Identifier: MIT */
/*
 * charge_rows: the tables group_totals and tag_totals, of the rows that pass a filter.
 *
 * Model: an account for each process and group, and one for each process and tag, as in the importer. A row says whose its
 *        block was at last; group_moves, which come in the order of ids as rows do, say whose it was before.
 * Invariants: CH-1 of all rows the tables are those of the file, but for elided blocks, which have no row. CH-2 of any rows
 *        allocated + moved in = freed + moved out + live, in blocks and bytes, of each account.
 *        CH-3 without groups both are empty: everything is the root's.
 * Memory: that of groups and tags, and of the blocks that are live at once.
 */
#ifndef MTRACE_QUERIES_CHARGE_ROWS_H
#define MTRACE_QUERIES_CHARGE_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Makes temp.group_totals and temp.tag_totals. */
int charge_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
