/* SPDX-License-Identifier: MIT */
/*
 * level_rows: live bytes of call sites at chosen times, from the rows that pass a filter.
 *
 * Equidistant times divide the range from..to of each process. One scan (row_feed.h) adds each
 * block at the first of these times at which it is live and subtracts it at the first at which it
 * is not. The sums become temp.snapshots and temp.snapshot_sites, the range becomes the analysis
 * range (_judged), and _growth_squares has the variance of the growth of samples. So all views over
 * snapshots answer for the filter and the range.
 *
 * Memory: grows with call sites and the times at which they change.
 */
#ifndef MTRACE_QUERIES_LEVEL_ROWS_H
#define MTRACE_QUERIES_LEVEL_ROWS_H

#include "queries/filter/row_feed.h"

#include <stdint.h>

struct error;
struct filter_sql;
struct rundb;

/* Parts of the rows that are not read. */
enum {
    LEVEL_ROWS_WITHOUT = ROW_FEED_SLACK | ROW_FEED_INTERVENING | ROW_FEED_FREE
};

struct level_rows_request {
    const struct filter_sql
        *filter; /* without `from` and `to`, which select allocation times there */
    int64_t from_ns,
        to_ns; /* clipped to a process's life; INT64_MAX: to the last but one of n_instants parts */
    uint32_t n_instants; /* at least 2; the first at the start of the range, the last at its end */
};

/* Creates the four tables. */
int level_rows_fill(struct rundb *database, const struct level_rows_request *request,
                    struct error *err);

#endif
