/* SPDX-License-Identifier: MIT */
/*
 * time_rows: computes the table timeline from the rows that pass a filter.
 *
 * A sweep over allocations in their order and the frees that are due between them. Buckets are
 * those of the file, or TIME_ROWS_BUCKETS equal parts of the requested range. As in the importer,
 * events of the same time are one step: the peak and the low of a bucket are taken when the time
 * advances.
 *
 * Invariants
 *   TR-1 For all rows the table equals that of the file.
 *   TR-2 A block allocated before the range and not yet freed is live in it.
 *
 * Memory: grows with the blocks that are live at the same time.
 */
#ifndef MTRACE_QUERIES_TIME_ROWS_H
#define MTRACE_QUERIES_TIME_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct filter_sql;
struct rundb;
struct scanned_row;

enum {
    TIME_ROWS_BUCKETS = 256
};

/* Rows that count, in addition to the filter. */
enum time_rows_which {
    TIME_ROWS_ALL,
    TIME_ROWS_LEAKED,
    TIME_ROWS_TEMPORARY,
};

struct time_rows_request {
    const struct filter_sql *filter; /* without the range */
    enum time_rows_which which;
    bool has_range;
    int64_t from_ns, to_ns; /* if has_range; clipped to the life of a process */
};

/* Parts of the rows that are not read, enum row_feed_part. */
unsigned time_rows_without(enum time_rows_which which);

bool time_rows_counts(enum time_rows_which which, const struct scanned_row *row);

/* Creates temp.timeline. */
int time_rows_fill(struct rundb *database, const struct time_rows_request *request,
                   struct error *err);

#endif
