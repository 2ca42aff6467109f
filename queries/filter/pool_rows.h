/* SPDX-License-Identifier: MIT */
/*
 * pool_rows: the table pools, of the blocks of pools that pass a filter.
 *
 * Model: conditions are written over allocation_rows and what belongs to these. Here TEMP views of the same names stand in front of
 *        them, whose rows are the blocks of pools: an id is a pool_block_id, which is in the order of births, too. So a time, a
 *        thread, a stack, a group, a phase is that of the pool's block, whatever block of malloc it lies in.
 *        What pools know nothing of is refused: kind, heap, chain, what came between, totals of a group.
 * Invariants: PR-1 of all blocks the table is that of the file, but for what was taken of malloc (taken_*, held_bytes, spare_bytes),
 *        which is NULL: it was taken for all of them. PR-2 all pools stay, also those of which no block passes.
 * Memory: SQLite's for the ids of blocks that pass, and for their births and ends when they are sorted.
 * Failure: ERROR_USAGE for a filter that pools know nothing of.
 */
#ifndef MTRACE_QUERIES_POOL_ROWS_H
#define MTRACE_QUERIES_POOL_ROWS_H

#include <stdio.h>

struct error;
struct filter;
struct filter_sql;
struct rundb;

/* Before the filter becomes SQL (filter_sql_init): what it is about stands in front. show_sql: where the statements that do it are
 * printed, besides; NULL: nowhere. */
int pool_rows_stand_in(struct rundb *database, const struct filter *filter, FILE *show_sql,
                       struct error *err);

/* Makes temp.pools. */
int pool_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
