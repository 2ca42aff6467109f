/* SPDX-License-Identifier: MIT */
/*
 * row_feed: passes the allocation rows that match a filter to a consumer, in batches.
 *
 * One SELECT. The scan is an aggregate function without a result: SQLite passes the values of each
 * row to it in place, which takes half the time of sqlite3_step per row.
 *
 * Rows come in the order of their allocation. A row's process is one of the file or 0; rows of a
 * damaged file whose backtrace is unknown are skipped. `blocks` and `bytes` include the weight of a
 * sample, as in the totals of the importer. Errors: ERROR_DATABASE; ERROR_NOMEM, also from the
 * consumer.
 */
#ifndef MTRACE_QUERIES_ROW_FEED_H
#define MTRACE_QUERIES_ROW_FEED_H

#include "lib/base/saturating.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct filter_sql;
struct rundb;

enum {
    ROW_FEED_UNKNOWN = -1 /* NULL in the file */
};

struct scanned_row {
    uint32_t process, backtrace;
    int64_t blocks, bytes;                  /* 1 and size_bytes, or the weight of a sample */
    double blocks_variance, bytes_variance; /* of that weight; 0 if not sampled */
    int64_t size_bytes, slack_bytes;        /* of the block itself */
    int64_t alloc_ns, lifetime_ns;          /* lifetime_ns: UNKNOWN if it was never freed */
    int64_t ended_by;
    int64_t intervening, free_backtrace; /* or UNKNOWN */
    /* only from row_feed_run_whole */
    int64_t allocation_id;
    uint32_t thread, free_thread; /* 0: unknown; not freed by a call */
    uint32_t group, free_group;   /* free_group: only if freed by a call */
};

enum row_feed_ended_by { /* allocation_rows.ended_by */
    ROW_FEED_LEAKED = 0,
    ROW_FEED_FREED = 1,
    ROW_FEED_REALLOCATED = 2,
    ROW_FEED_UNSEEN = 3,
    ROW_FEED_EXEC = 4
};

/* Columns that a consumer does not need: each one costs as much as the row itself. */
enum row_feed_part {
    ROW_FEED_SLACK = 1,       /* slack_bytes: 0 */
    ROW_FEED_LIFETIME = 2,    /* lifetime_ns: UNKNOWN */
    ROW_FEED_INTERVENING = 4, /* intervening: UNKNOWN */
    ROW_FEED_FREE = 8         /* free_backtrace: UNKNOWN */
};

struct row_feed {
    const struct rundb *database;
    unsigned without;     /* enum row_feed_part; to be set before a run */
    uint32_t *process_of; /* by thread_id; 0 stands for rows without a thread */
    uint64_t *mean_of;    /* by process_id: bytes between samples, 0: every block was recorded */
    uint32_t *site_of;    /* call site by backtrace_id, 0: none; after row_feed_read_sites */
    size_t n_threads;
    size_t n_processes, n_backtraces; /* highest id + 1 */
};

/* False: no memory. */
typedef bool row_feed_take(void *context, const struct scanned_row *rows, size_t n);

/* Call row_feed_done in any case. */
int row_feed_init(struct row_feed *scan, const struct rundb *database, struct error *err);
void row_feed_done(struct row_feed *scan);

/* For consumers that sum up by call site. */
int row_feed_read_sites(struct row_feed *scan, struct error *err);

int row_feed_run(const struct row_feed *scan, const struct filter_sql *filter, row_feed_take *take,
                 void *context, struct error *err);

/* The same with all members of struct scanned_row. Slower. */
int row_feed_run_whole(const struct row_feed *scan, const struct filter_sql *filter,
                       row_feed_take *take, void *context, struct error *err);

/* When the block was freed; INT64_MAX: never, or by exec. */
static inline int64_t row_feed_end_ns(const struct scanned_row *row)
{
    return row->lifetime_ns == ROW_FEED_UNKNOWN || row->ended_by == ROW_FEED_EXEC
               ? INT64_MAX
               : saturating_add(row->alloc_ns, row->lifetime_ns);
}

static inline bool row_feed_is_ended_by_call(const struct scanned_row *row)
{
    return row->ended_by == ROW_FEED_FREED || row->ended_by == ROW_FEED_REALLOCATED;
}

/* Its thread made at most one other allocation before the block was freed (docs/glossary.md). */
static inline bool row_feed_is_temporary(const struct scanned_row *row)
{
    return row->intervening != ROW_FEED_UNKNOWN && row->intervening <= 1;
}

/* The statement, for filter_sql_show. Free with sqlite3_free; NULL: no memory. */
char *row_feed_sql(const struct filter_sql *filter, unsigned without);

#endif
