/* SPDX-License-Identifier: MIT */
/*
 * filtered_totals: makes all built-in views answer for the rows that pass a filter.
 *
 * TEMP tables and views replace the totals of the same names in the file; the views, which are TEMP
 * too, read them. Without a row parameter stored totals are selected. With one, rows are scanned
 * once (row_totals.h).
 *
 * A claim of an object names a malloc block by its id. Only second claims are filtered: first
 * claims stay, because they show which object was first. Claims of memory that is not a malloc
 * block pass no filter.
 */
#ifndef MTRACE_QUERIES_FILTERED_TOTALS_H
#define MTRACE_QUERIES_FILTERED_TOTALS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct filter;
struct filter_sql;
struct rundb;

enum {
    FILTERED_TOTALS_INSTANTS = 64 /* the number of snapshots of an import */
};

struct filtered_totals_request {
    const struct filter *filter;
    int64_t process_id; /* 0: all */
    bool is_over_time;  /* about growth: `from` and `to` are the analysis range */
    bool is_to_the_end; /* about growth: to the end of the run, not to 98 %, and from rows */
    /* Only about leaks: with `alive_at`, those of a run that ended then. */
    bool is_of_leaks;
    bool is_blamed_again; /* blame.h replaced call sites */
    bool has_own_peaks;   /* the answer shows peaks of stacks */
    bool has_functions;   /* the answer reads function_totals or module_totals */
    FILE *show_sql; /* not NULL: print the statement behind the totals there and leave them empty */
};

/* Call it between rundb_offer_views and rundb_lock. Does nothing without filters. */
int filtered_totals_install(struct rundb *database, const struct filtered_totals_request *request,
                            struct error *err);

/* Creates temp._passed(id): the ids of rows that pass a filter, for joins. SQLite moves a large
 * table to a temporary file. condition: a further " AND …" over allocation_rows AS a, or "". */
int filtered_totals_fill_passed(struct rundb *database, const struct filter_sql *filter,
                                const char *condition, struct error *err);

/* Creates temp.object_claims. */
int filtered_totals_fill_claims(struct rundb *database, const struct filter_sql *filter,
                                struct error *err);

#endif
