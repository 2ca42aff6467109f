/* SPDX-License-Identifier: MIT */
/*
 * phase_rows: the figures of phases, of the rows that pass a filter.
 *
 * Model: a sweep over births in their order and the deaths that are due between them. Where a phase begins or ends is a
 *        bound: before the birth with its id, or, of a phase without births, behind those of its instant; a death of that very instant counts as
 *        before it. At a bound what the process has counted is noted, and the highest sum of live bytes since the bound
 *        before. All phases stay, also those in which no row was born.
 * Invariants: PH-1 of all rows the table is that of the file. PH-2 a phase costs its two bounds and a search among the highest sums
 *        that are still to be asked for, however many are open at once.
 * Memory: that of phases, and of the blocks that are live at once.
 */
#ifndef MTRACE_QUERIES_PHASE_ROWS_H
#define MTRACE_QUERIES_PHASE_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Makes temp.phases. */
int phase_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
