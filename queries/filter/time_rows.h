/* SPDX-License-Identifier: MIT */
/*
 * time_rows: the table timeline, of the rows that pass a filter.
 *
 * Model: a sweep over births in their order and the deaths that are due between them. Buckets are those of the file, or,
 *        where a range is asked for, TIME_ROWS_BUCKETS equal parts of it. As in the importer an instant
 *        is all that happens at one time: peak and low of a bucket are taken over what is live when time goes on.
 * Invariants: TR-1 of all rows the table is that of the file. TR-2 what was born before the range is live in it.
 * Memory: that of the blocks that are live at once.
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

/* Which rows count, whatever the filter says. */
enum time_rows_which {
    TIME_ROWS_ALL,
    TIME_ROWS_LEAKED,
    TIME_ROWS_TEMPORARY,
};

struct time_rows_request {
    const struct filter_sql *filter; /* without the range */
    enum time_rows_which which;
    bool has_range;
    int64_t from_ns, to_ns; /* when has_range; as far as a process lived */
};

/* What of rows is not read for that, as enum row_feed_part. */
unsigned time_rows_without(enum time_rows_which which);

bool time_rows_counts(enum time_rows_which which, const struct scanned_row *row);

/* Makes temp.timeline. */
int time_rows_fill(struct rundb *database, const struct time_rows_request *request,
                   struct error *err);

#endif
