/* SPDX-License-Identifier: MIT */
/*
 * pool_rows: computes the table pools from the pool blocks that pass a filter.
 *
 * Conditions are written over allocation_rows and its companions. Here TEMP views of the same names
 * replace these: their rows are pool blocks, their ids pool_block_ids, which are also in the order
 * of allocation. So time, thread, stack, group and phase are those of the pool block, not of the
 * malloc block that contains it. Filters by kind, heap, chain, intervening allocations or totals of
 * a group have no meaning for pools and are refused.
 *
 * Invariants
 *   PR-1 For all blocks the table equals that of the file, except for the memory taken from malloc
 *        (taken_*, held_bytes, spare_bytes), which is NULL: all blocks share it.
 *   PR-2 Pools without a block that passes stay.
 *
 * Memory: SQLite's for the ids of blocks that pass, and for sorting allocations and frees.
 * Errors: ERROR_USAGE for a filter that has no meaning for pools.
 */
#ifndef MTRACE_QUERIES_POOL_ROWS_H
#define MTRACE_QUERIES_POOL_ROWS_H

#include <stdio.h>

struct error;
struct filter;
struct filter_sql;
struct rundb;

/* Installs the views. Call it before filter_sql_init. show_sql: also print the statements there;
 * NULL: nowhere. */
int pool_rows_stand_in(struct rundb *database, const struct filter *filter, FILE *show_sql,
                       struct error *err);

/* Creates temp.pools. */
int pool_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
