/* SPDX-License-Identifier: MIT */
/*
 * export_totals: the filtered totals of each stack: allocated, leaked, at the peak.
 */
#ifndef MTRACE_QUERIES_EXPORT_TOTALS_H
#define MTRACE_QUERIES_EXPORT_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct export_job;
struct sqlite3_stmt;

/* In this order: pairs of blocks and bytes. */
enum export_total {
    EXPORT_ALLOCATED_BLOCKS,
    EXPORT_ALLOCATED_BYTES,
    EXPORT_LIVE_BLOCKS, /* at the end, or at the time of --at */
    EXPORT_LIVE_BYTES,
    EXPORT_PEAK_BLOCKS,
    EXPORT_PEAK_BYTES,
    EXPORT_TEMPORARY_BLOCKS,
    EXPORT_TEMPORARY_BYTES,
    EXPORT_TOTALS
};

struct export_totals {
    const struct export_job *job;
    struct sqlite3_stmt *stmt;
    bool has_instant; /* --at is given: all selected blocks are live then */
};

struct export_stack_totals {
    int64_t backtrace_id;
    int64_t totals[EXPORT_TOTALS];
};

/* Call export_totals_close also after a failure. */
int export_totals_open(struct export_totals *totals, const struct export_job *job,
                       struct error *err);
void export_totals_close(struct export_totals *totals);

/* 1 and the next stack by ascending id, 0 at the end, or an error. */
int export_totals_next(struct export_totals *totals, struct export_stack_totals *ret_stack,
                       struct error *err);

#endif
