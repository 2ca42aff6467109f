/* SPDX-License-Identifier: MIT */
/*
 * range: blocks allocated in a time range and freed outside of it, and the reverse
 * (views/range.sql).
 *
 * `from` and `to` are the range, not allocation times; all other filters select blocks.
 */
#include "lib/base/error.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_sums.h"
#include "queries/reports/reports.h"

#include <string.h>

enum outcome {
    OUTCOME_NONE,
    FREED_AFTER,
    NEVER_FREED,
    ALLOCATED_BEFORE
};

struct range {
    int64_t from_ns, to_ns; /* both inclusive */
    struct hash_map sums;   /* struct pair_sum; other: enum outcome */
};

static enum outcome outcome_of(const struct range *range, const struct scanned_row *row)
{
    int64_t end_ns = row_feed_end_ns(row);

    if (row->alloc_ns < range->from_ns)
        return end_ns >= range->from_ns && end_ns <= range->to_ns && end_ns != INT64_MAX
                   ? ALLOCATED_BEFORE
                   : OUTCOME_NONE;
    if (row->alloc_ns > range->to_ns)
        return OUTCOME_NONE;
    if (end_ns == INT64_MAX)
        return NEVER_FREED;
    return end_ns > range->to_ns ? FREED_AFTER : OUTCOME_NONE;
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct range *range = context;

    for (size_t i = 0; i < n; i++) {
        const struct pair_sum block = {rows[i].process, rows[i].backtrace,
                                       (uint32_t)outcome_of(range, &rows[i]), rows[i].blocks,
                                       rows[i].bytes};

        if (block.other != OUTCOME_NONE && !pair_sums_add(&range->sums, &block))
            return false;
    }
    return true;
}

static const char table_sql[] =
    "CREATE TEMP TABLE range_totals(process_id INTEGER, backtrace_id INTEGER, outcome TEXT,"
    " blocks INTEGER, bytes INTEGER);";

static int put_table(struct range *range, struct rundb *database, struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, table_sql, err);

    pair_sums_sort(&range->sums);
    if (rc == 0)
        rc = rundb_prepare(database,
                           "INSERT INTO temp.range_totals VALUES (?1, ?2, CASE ?3 WHEN 1 THEN"
                           " 'freed_after' WHEN 2 THEN 'never_freed' ELSE 'allocated_before' END,"
                           " ?4, ?5)",
                           &insert, err);
    for (size_t i = 0; rc == 0 && i < range->sums.n; i++) {
        const struct pair_sum *sum = pair_sums_at(&range->sums, i);
        const int64_t values[] = {sum->process, sum->backtrace, sum->other, sum->blocks,
                                  sum->bytes};

        rc = rundb_insert(database, insert, values, 5, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static int count_blocks(struct query *query, const struct filter_sql *filter, struct range *range,
                        struct error *err)
{
    struct row_feed scan;
    int rc = row_feed_init(&scan, &query->database, err);

    scan.without = ROW_FEED_SLACK | ROW_FEED_INTERVENING | ROW_FEED_FREE;
    if (query->options->is_sql_shown)
        rc = rc ? rc
                : filter_sql_show(filter, row_feed_sql(filter, scan.without), "the table below is",
                                  query->out, err);
    else if (rc == 0)
        rc = row_feed_run(&scan, filter, take, range, err);
    if (rc == 0 && !query->options->is_sql_shown)
        rc = put_table(range, &query->database, err);
    row_feed_done(&scan);
    return rc;
}

/* Without `from`: blocks allocated before the range are needed, too. Those after it are not. */
static void leave_from_out(const struct filter *all, struct filter *ret_blocks)
{
    ret_blocks->n_values = 0;
    for (size_t i = 0; i < all->n_values; i++) {
        if (strcmp(all->values[i].parameter->name, "from") != 0)
            ret_blocks->values[ret_blocks->n_values++] = all->values[i];
    }
}

int cmd_range_install(struct query *query, struct error *err)
{
    const struct query_options *options = query->options;
    struct range range = {0};
    struct filter blocks;
    struct filter_sql sql;
    int rc;

    leave_from_out(&options->filter, &blocks);
    rc = filter_sql_init(&sql, &query->database, &blocks, options->process_id, 0, err);
    if (rc == 0)
        rc = filter_sql_range(&sql, &options->filter, &range.from_ns, &range.to_ns, err);
    if (rc == 0 && range.from_ns == INT64_MIN && range.to_ns == INT64_MAX)
        rc = error_set(err, ERROR_USAGE,
                       "%s needs a time range: from=TIME, to=TIME or both, as --from 10s --to 20s",
                       options->command->name);
    if (rc == 0)
        rc = count_blocks(query, &sql, &range, err);
    filter_sql_done(&sql);
    hash_map_done(&range.sums);
    return rc;
}
