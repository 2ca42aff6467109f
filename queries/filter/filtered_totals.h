/* SPDX-License-Identifier: MIT */
/*
 * filtered_totals: lets every canned view answer for what passes a filter.
 *
 * Model: TEMP tables and views stand in front of the totals of the same name in the file, and the
 *        views, which are TEMP as well, read them. When no row parameter is used, stored totals are
 *        merely selected; otherwise rows are scanned once (row_totals.h).
 */
#ifndef MTRACE_QUERIES_FILTERED_TOTALS_H
#define MTRACE_QUERIES_FILTERED_TOTALS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct filter;
struct rundb;

enum {
    FILTERED_TOTALS_INSTANTS = 64 /* as many as an import takes snapshots */
};

struct filtered_totals_request {
    const struct filter *filter;
    int64_t process_id; /* 0: all */
    bool is_over_time;  /* about growth: `from` and `to` are the time that is looked at */
    bool is_to_the_end; /* of these, not to 98 % of the run but to its end, and always from rows */
    /* And of nothing else: those that an end at the instant of `alive_at` would leave. */
    bool is_of_leaks;
    bool is_blamed_again; /* call sites are others than those of the file (blame.h) */
    bool has_own_peaks;   /* of stacks, asked for */
    FILE *show_sql; /* not NULL: the statement behind the totals goes there, and they stay empty */
};

/* Between rundb_offer_views and rundb_lock; does nothing without filters. */
int filtered_totals_install(struct rundb *database, const struct filtered_totals_request *request,
                            struct error *err);

#endif
