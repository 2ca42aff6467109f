/* SPDX-License-Identifier: MIT */
/*
 * site_curves: live or allocated memory of each call site of a process in equal parts of a time,
 * from the rows that pass a filter.
 *
 * One scan adds each block to the part in which it was allocated and subtracts it in the part in
 * which it was freed (flows only add). Sums are stored where they change. The call sites with the
 * largest sums have a series each; the others share one.
 *
 * Memory: grows with call sites and the parts in which they change.
 */
#ifndef MTRACE_QUERIES_SITE_CURVES_H
#define MTRACE_QUERIES_SITE_CURVES_H

#include "queries/filter/time_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct filter_sql;
struct rundb;

enum {
    SITE_CURVES_PARTS = 400,
    SITE_CURVES_SERIES = 11 /* including the series of all others, which is the last */
};

enum site_curves_what {
    SITE_CURVES_LIVE,      /* at the end of each part */
    SITE_CURVES_ALLOCATED, /* in it */
    SITE_CURVES_ENDED,
};

struct site_curves_request {
    const struct filter_sql *filter; /* without the range */
    int64_t process_id;
    int64_t from_ns, to_ns; /* from_ns < to_ns */
    enum time_rows_which which;
    enum site_curves_what what;
    bool is_by_blocks;
};

struct site_curves {
    struct site_series {
        int64_t site_id; /* 0: no call site, or all others */
        bool is_rest;
        double sum; /* of its values */
        int64_t values[SITE_CURVES_PARTS];
    } series[SITE_CURVES_SERIES];

    size_t n;        /* largest first */
    size_t n_others; /* call sites in the last one, if it is the rest */
};

int site_curves_load(struct site_curves *times, const struct rundb *database,
                     const struct site_curves_request *request, struct error *err);

#endif
