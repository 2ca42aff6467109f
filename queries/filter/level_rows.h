/* SPDX-License-Identifier: MIT */
/*
 * level_rows: what call sites had live at instants of one's own, of the rows that pass a filter.
 *
 * Model: the range from..to of each process is divided by instants at equal distances; one scan
 *        (row_feed.h) adds each block to the first instant at which it is live and takes it away at
 *        the first at which it is not. The sums become temp.snapshots and temp.snapshot_sites, and
 *        the range what is judged (_judged), and of samples how sure the growth from the first instant to the last is
 *        (_growth_squares): every view over snapshots answers for the filter and
 *        the range.
 * Memory: with call sites times the instants at which they change.
 */
#ifndef MTRACE_QUERIES_LEVEL_ROWS_H
#define MTRACE_QUERIES_LEVEL_ROWS_H

#include "queries/filter/row_feed.h"

#include <stdint.h>

struct error;
struct filter_sql;
struct rundb;

/* What of the rows is not read. */
enum {
    LEVEL_ROWS_WITHOUT = ROW_FEED_SLACK | ROW_FEED_INTERVENING | ROW_FEED_FREE
};

struct level_rows_request {
    const struct filter_sql *filter; /* without the range, which is of births there */
    int64_t from_ns, to_ns;          /* as far as a process lived; INT64_MAX: to the last but one of
                               n_instants parts, like the regular snapshots of an import */
    uint32_t n_instants; /* 2 or more; the first at the start of the range, the last at its end */
};

/* Makes the four tables. */
int level_rows_fill(struct rundb *database, const struct level_rows_request *request,
                    struct error *err);

#endif
