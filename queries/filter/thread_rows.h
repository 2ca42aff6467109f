/* SPDX-License-Identifier: MIT */
/*
 * thread_rows: computes threads and thread_flows from the rows that pass a filter.
 *
 * A block is charged to the thread that allocated it and counts for the peak of that thread. The
 * thread that freed it by a call counts the free. Threads without a row stay.
 *
 * Invariants
 *   TH-1 For all rows the tables equal those of the file, except for elided blocks, which have no
 *        row.
 *
 * Memory: grows with threads, pairs of threads and the blocks that are live at the same time.
 */
#ifndef MTRACE_QUERIES_THREAD_ROWS_H
#define MTRACE_QUERIES_THREAD_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Creates temp.threads and temp.thread_flows. */
int thread_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
