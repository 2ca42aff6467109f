/* SPDX-License-Identifier: MIT */
/*
 * row_scan: the rows of allocations that pass a filter, each handed on once, in batches.
 *
 * Model: one SELECT. The scan is an aggregate function without a result: SQLite hands it each row's
 *        values where they are, which takes half the time of stepping from row to row.
 * Invariants: RW-1 rows come in the order of their births. RW-2 a row's process is one of the file
 *        or 0; its backtrace is below n_backtraces: other rows, of a damaged file, are left out.
 * Failure: ERROR_DATABASE; ERROR_NOMEM, also when the consumer says so.
 */
#ifndef MTRACE_QUERIES_ROW_SCAN_H
#define MTRACE_QUERIES_ROW_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct filter_sql;
struct rundb;

enum {
    ROW_SCAN_UNKNOWN = -1 /* NULL in the file */
};

struct scanned_row {
    uint32_t process, backtrace;
    int64_t size_bytes, slack_bytes;
    int64_t alloc_ns, lifetime_ns; /* lifetime_ns: UNKNOWN when it never ended */
    int64_t ended_by;
    int64_t intervening, free_backtrace; /* or UNKNOWN */
};

struct row_scan {
    const struct rundb *database;
    uint32_t *process_of; /* by thread_id; 0 stands for rows without a thread */
    size_t n_threads;
    size_t n_processes, n_backtraces; /* highest id + 1 */
};

/* False: no memory. */
typedef bool row_scan_take(void *context, const struct scanned_row *rows, size_t n);

/* Call row_scan_done in any case. */
int row_scan_init(struct row_scan *scan, const struct rundb *database, struct error *err);
void row_scan_done(struct row_scan *scan);

int row_scan_run(const struct row_scan *scan, const struct filter_sql *filter, row_scan_take *take,
                 void *context, struct error *err);

/* The statement, for who wants to show it: sqlite3_free it, NULL: no memory. */
char *row_scan_sql(const struct filter_sql *filter);

#endif
