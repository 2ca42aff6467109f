/* SPDX-License-Identifier: MIT */
/* timeline_measure: what of the rows of timeline --measure is about, and its filters without the range, which is the time that is
 * looked at. */
#ifndef MTRACE_QUERIES_TIMELINE_MEASURE_H
#define MTRACE_QUERIES_TIMELINE_MEASURE_H

#include "queries/filter/filter.h"
#include "queries/filter/site_curves.h"

struct error;
struct query;
struct rundb;

struct timeline_measure {
    const char *name; /* in titles: "live", "allocated", … */
    enum time_rows_which which;
    enum site_curves_what what;
    const char *column; /* of the view timeline that a chart shows */
    const char *blocks_column;
};

/* ERROR_USAGE lists the measures. */
int timeline_measure_of(const struct query *query, const struct timeline_measure **ret,
                        struct error *err);

/* Without `from` and `to`, which become has_range and so on; what is not given is the widest. */
struct timeline_range {
    struct filter filter;
    const struct filter *asked; /* with them */
    bool is_part;               /* there are some */
};

struct timeline_range timeline_range_of(const struct query *query);

/* The instants, once the filter is compiled; ERROR_USAGE: there is no time between them. */
int timeline_range_resolve(const struct timeline_range *range, const struct filter_sql *sql,
                           int64_t *ret_from_ns, int64_t *ret_to_ns, struct error *err);

#endif
