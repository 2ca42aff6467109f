/* SPDX-License-Identifier: MIT */
/*
 * thread_rows: the figures of threads, and thread_flows, of the rows that pass a filter.
 *
 * Model: who allocated a block is charged with it and has it in its peak, who ended it by a call is told so. All threads
 *        stay, also those that no row is of.
 * Invariants: TH-1 of all rows the tables are those of the file, but for elided blocks, which have no row.
 * Memory: that of threads, of pairs of them, and of the blocks that are live at once.
 */
#ifndef MTRACE_QUERIES_THREAD_ROWS_H
#define MTRACE_QUERIES_THREAD_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Makes temp.threads and temp.thread_flows. */
int thread_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
