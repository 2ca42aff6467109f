/* SPDX-License-Identifier: MIT */
/*
 * row_totals: the totals of the rows that pass a filter, by one scan.
 *
 * One SELECT over allocation rows (row_feed.h) is summed here by process and stack, by the stack
 * that freed, and for leaks by time bucket: SQLite's GROUP BY would sort millions of rows. The sums
 * become TEMP tables with the names of those in the file, so all views over totals answer for the
 * filtered rows. Columns that need realloc chains (reallocs) are NULL; own peaks are NULL unless
 * requested. If only leaks are requested, temporary blocks, peaks, slack and lifetimes are NULL:
 * their columns are not read.
 *
 * As of a time: blocks allocated later are excluded and blocks freed later are leaked, as if the
 * process had ended then. Patterns over time use the requested range of allocation times.
 *
 * Memory: grows with distinct stacks, not with rows; for own peaks also with the live blocks.
 */
#ifndef MTRACE_QUERIES_ROW_TOTALS_H
#define MTRACE_QUERIES_ROW_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct filter_sql;
struct filter_value;
struct rundb;

struct row_totals_request {
    const struct filter_sql *filter;
    const struct filter_value *as_of; /* a time; NULL: the end of each process */
    const struct filter_value *from,
        *to; /* allocation times, also in the filter; NULL: the whole life */
    bool is_of_leaks;
    bool has_own_peaks;
};

/* Parts of the rows that are not read, enum row_feed_part. */
unsigned row_totals_without(const struct row_totals_request *request);

/* Fills temp.backtrace_totals, temp.free_sites and temp.leaked_allocations, which exist and are
 * empty. As of a time or for a range, it also replaces temp._judged. */
int row_totals_fill(struct rundb *database, const struct row_totals_request *request,
                    struct error *err);

/* The analysis range of a process. */
struct row_totals_range {
    int64_t start_ns, end_ns;
    bool is_known; /* the process has data for the query */
};

/* Replaces the view _judged, which has the time that was recorded, by the analysis range: the time
 * over which patterns are computed. Call it once per database. times: by process_id, n_processes of
 * them; index 0 is unused. */
int row_totals_put_range(struct rundb *database, const struct row_totals_range *times,
                         size_t n_processes, struct error *err);

#endif
