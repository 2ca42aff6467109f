/* SPDX-License-Identifier: MIT */
/*
 * claim_rows: second claims of the blocks that pass a filter.
 *
 * Model: a claim names a block of malloc by its id. First claims all stay, for they say who was first.
 *        Claims of what is no block of malloc pass no filter.
 */
#ifndef MTRACE_QUERIES_CLAIM_ROWS_H
#define MTRACE_QUERIES_CLAIM_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Makes temp.object_claims. */
int claim_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
