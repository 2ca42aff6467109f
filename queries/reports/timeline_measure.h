/* SPDX-License-Identifier: MIT */
/*
 * timeline_measure: what `timeline --measure` counts, and the filters of the query without `from`
 * and `to`, which become the range of the time axis.
 */
#ifndef MTRACE_QUERIES_TIMELINE_MEASURE_H
#define MTRACE_QUERIES_TIMELINE_MEASURE_H

#include "queries/filter/filter.h"
#include "queries/filter/site_curves.h"

struct error;
struct query;
struct rundb;

struct timeline_measure {
    const char *name; /* for titles: "live", "allocated", … */
    enum time_rows_which which;
    enum site_curves_what what;
    const char *column; /* of the view timeline that a chart shows */
    const char *blocks_column;
};

/* ERROR_USAGE lists the measures. */
int timeline_measure_of(const struct query *query, const struct timeline_measure **ret,
                        struct error *err);

/* The filter without `from` and `to`. A bound that is not given is the widest. */
struct timeline_range {
    struct filter filter;
    const struct filter *asked; /* with `from` and `to` */
    bool is_part;               /* `from` or `to` is given */
};

struct timeline_range timeline_range_of(const struct query *query);

/* The times, after the filter was compiled. ERROR_USAGE: the range is empty. */
int timeline_range_resolve(const struct timeline_range *range, const struct filter_sql *sql,
                           int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err);

#endif
