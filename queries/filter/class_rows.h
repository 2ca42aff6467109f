/* SPDX-License-Identifier: MIT */
/*
 * class_rows: computes size_classes and lifetime_classes from the rows that pass a filter.
 *
 * One scan (row_feed.h) counts each row in its size class and, if the block was freed, in its
 * lifetime class.
 *
 * Invariants
 *   CR-1 For all rows the tables equal those of the file, except for elided blocks, which have no
 *        row.
 *
 * Memory: 12 KiB for each process with a row that passes.
 */
#ifndef MTRACE_QUERIES_CLASS_ROWS_H
#define MTRACE_QUERIES_CLASS_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Creates temp.size_classes and temp.lifetime_classes. */
int class_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
