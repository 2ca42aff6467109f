/* SPDX-License-Identifier: MIT */
/*
 * class_rows: the tables size_classes and lifetime_classes, of the rows that pass a filter.
 *
 * Model: one scan (row_feed.h) counts each row in the class of its size and, once it was ended, in that of its lifetime.
 * Invariants: CR-1 of all rows the tables are those of the file, but for elided blocks, which have no row.
 * Memory: 12 KiB for each process with a row that passes.
 */
#ifndef MTRACE_QUERIES_CLASS_ROWS_H
#define MTRACE_QUERIES_CLASS_ROWS_H

struct error;
struct filter_sql;
struct rundb;

/* Makes temp.size_classes and temp.lifetime_classes. */
int class_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err);

#endif
