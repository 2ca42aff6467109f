/* SPDX-License-Identifier: MIT */
/*
 * claim_rows: second claims of the blocks that pass a filter.
 *
 * A claim names a malloc block by its id. All first claims stay, because they show which object was
 * first. Claims of memory that is not a malloc block pass no filter.
 */
#ifndef MTRACE_QUERIES_CLAIM_ROWS_H
#define MTRACE_QUERIES_CLAIM_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Creates temp.object_claims. */
int claim_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
