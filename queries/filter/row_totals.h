/* SPDX-License-Identifier: MIT */
/*
 * row_totals: the totals of the rows that pass a filter, by one scan.
 *
 * Model: one SELECT over allocation rows (row_feed.h), summed here by process and stack (and by the
 *        stack that freed, and of leaks by the part of the process's life), because SQLite's own
 *        GROUP BY over millions of rows sorts them. The sums become TEMP tables named as the ones
 *        in the file, so that every view over totals answers for the filtered rows. What only
 *        chains tell (reallocs) is NULL there, and own peaks are where nobody asks for them.
 *        Where only leaks are asked for, temporary blocks, peaks, slack and lifetimes are NULL, too: the
 *        columns they are told from are not read.
 * As of an instant: what was born later is left out, and what ended later is leaked, as if the
 *        process had ended then. Shapes over time are judged over the range of births that is asked for.
 * Memory: with distinct stacks, not with rows; for own peaks also with the blocks live at once.
 */
#ifndef MTRACE_QUERIES_ROW_TOTALS_H
#define MTRACE_QUERIES_ROW_TOTALS_H

#include <stdbool.h>

struct rundb;
struct error;
struct filter_sql;
struct filter_value;

struct row_totals_request {
    const struct filter_sql *filter;
    const struct filter_value *as_of;     /* an instant; NULL: the end of each process */
    const struct filter_value *from, *to; /* of births, which the filter has, too; NULL: the life */
    bool is_of_leaks;
    bool has_own_peaks;
};

/* What of the rows is not read, as enum row_feed_part. */
unsigned row_totals_without(const struct row_totals_request *request);

/* Fills temp.backtrace_totals, temp.free_sites and temp.leaked_allocations, which exist and are empty,
 * and, as of an instant or for a range, replaces temp._judged. */
int row_totals_fill(struct rundb *database, const struct row_totals_request *request,
                    struct error *err);

#endif
