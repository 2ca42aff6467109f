/* SPDX-License-Identifier: MIT */
/*
 * timeline_picture: memory over time as a picture, stacked by call site.
 *
 * It shows one process: the selected one, else that with most memory. --measure chooses what is
 * live at the end of each time step, or allocated, freed or temporary in it. The line above the
 * areas is the maximum within each step. The filters `from` and `to` become the range of the time
 * axis.
 */
#ifndef MTRACE_QUERIES_TIMELINE_PICTURE_H
#define MTRACE_QUERIES_TIMELINE_PICTURE_H

#include "queries/filter/filter.h"
#include "queries/filter/site_curves.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct query;
struct rundb;

/* What `timeline --measure` counts. */
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

/* The process to draw; 0: there is none. */
int timeline_picture_process(const struct query *query, int64_t *ret_process_id, struct error *err);

/* Start and end of a process. */
int timeline_picture_life(const struct query *query, int64_t process_id, int64_t *ret_start_ns,
                          int64_t *ret_end_ns, struct error *err);

/* is_inline: inside an HTML page. */
int timeline_picture_draw(const struct query *query, int64_t process_id, bool is_inline,
                          struct error *err);

#endif
