/* SPDX-License-Identifier: MIT */
/*
 * phase_rows: computes the table phases from the rows that pass a filter.
 *
 * A sweep over allocations in their order and the frees that are due between them. The start and
 * the end of a phase are bounds. A bound is before the allocation with its id. For a phase without
 * allocations it is after those of its time; a free of the same time counts as before the bound. At
 * a bound the sweep notes the counters of the process and the highest live bytes since the previous
 * bound. Phases without allocations stay.
 *
 * Invariants
 *   PH-1 For all rows the table equals that of the file.
 *   PH-2 A phase costs two bounds and a search among the pending highest sums, however many are
 *        open.
 *
 * Memory: grows with phases and the blocks that are live at the same time.
 */
#ifndef MTRACE_QUERIES_PHASE_ROWS_H
#define MTRACE_QUERIES_PHASE_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Creates temp.phases. */
int phase_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
