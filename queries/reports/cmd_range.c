/* SPDX-License-Identifier: MIT */
/*
 * range: blocks allocated in a time range and freed outside of it, and the reverse.
 *
 * `from` and `to` are the range, not allocation times; all other filters select blocks. The blocks
 * are summed by stack into a TEMP table, and shown by call site.
 */
#include "lib/base/error.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_sums.h"
#include "queries/reports/reports.h"

#include <string.h>

/* What the range does to a block, in the order of the columns of the TEMP table. */
enum outcome {
    FREED_AFTER,
    NEVER_FREED, /* or lost at an exec */
    ALLOCATED_BEFORE,
    N_OUTCOMES /* it was live at both ends, or at none */
};

struct range {
    int64_t from_ns, to_ns; /* both inclusive */
    struct hash_map sums;   /* pair_totals_entry; from: stack, to: enum outcome */
};

static enum outcome outcome_of(const struct range *range, const struct scanned_row *row)
{
    int64_t end_ns = row_feed_end_ns(row);

    if (row->alloc_ns < range->from_ns)
        return end_ns >= range->from_ns && end_ns <= range->to_ns && end_ns != INT64_MAX
                   ? ALLOCATED_BEFORE
                   : N_OUTCOMES;
    if (row->alloc_ns > range->to_ns)
        return N_OUTCOMES;
    if (end_ns == INT64_MAX)
        return NEVER_FREED;
    return end_ns > range->to_ns ? FREED_AFTER : N_OUTCOMES;
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct range *range = context;

    for (size_t i = 0; i < n; i++) {
        enum outcome outcome = outcome_of(range, &rows[i]);

        if (outcome != N_OUTCOMES
            && !row_sums_add_pair(&range->sums, &rows[i], rows[i].backtrace, outcome, 1))
            return false;
    }
    return true;
}

static const char table_sql[] =
    "CREATE TEMP TABLE range_totals(process_id INTEGER, backtrace_id INTEGER,"
    " freed_after_bytes INTEGER, freed_after_blocks INTEGER,"
    " never_freed_bytes INTEGER, never_freed_blocks INTEGER,"
    " allocated_before_bytes INTEGER, allocated_before_blocks INTEGER);";

const char cmd_range_source[] =
    "(WITH site AS (SELECT r.process_id,"
    " sum(r.freed_after_bytes) AS freed_after_bytes, sum(r.freed_after_blocks) AS freed_after_blocks,"
    " sum(r.never_freed_bytes) AS never_freed_bytes, sum(r.never_freed_blocks) AS never_freed_blocks,"
    " sum(r.allocated_before_bytes) AS allocated_before_bytes,"
    " sum(r.allocated_before_blocks) AS allocated_before_blocks, b.call_site_id"
    " FROM range_totals AS r JOIN backtraces AS b ON b.backtrace_id = r.backtrace_id"
    " GROUP BY r.process_id, b.call_site_id)"
    " SELECT t.process_id, t.freed_after_bytes, t.freed_after_blocks, t.never_freed_bytes,"
    " t.never_freed_blocks, t.allocated_before_bytes, t.allocated_before_blocks,"
    " t.freed_after_bytes + t.never_freed_bytes - t.allocated_before_bytes AS change_bytes,"
    " t.freed_after_blocks + t.never_freed_blocks - t.allocated_before_blocks AS change_blocks,"
    " s.function, s.source, s.line, s.module, t.call_site_id"
    " FROM site AS t LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id"
    " ORDER BY t.freed_after_bytes + t.never_freed_bytes + t.allocated_before_bytes DESC,"
    " t.freed_after_blocks + t.never_freed_blocks + t.allocated_before_blocks DESC,"
    " t.process_id, t.call_site_id)";

static int put_table(struct range *range, struct rundb *database, struct error *err)
{
    const struct pair_totals_entry *sums = range->sums.elements;
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, table_sql, err);

    pair_totals_sort(&range->sums);
    if (rc == 0)
        rc =
            rundb_prepare(database, "INSERT INTO temp.range_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                          &insert, err);
    for (size_t i = 0; rc == 0 && i < range->sums.n; i++) {
        int64_t values[2 + 2 * N_OUTCOMES] = {sums[i].process, sums[i].from};

        values[2 + 2 * sums[i].to] = (int64_t)sums[i].bytes;
        values[3 + 2 * sums[i].to] = (int64_t)sums[i].blocks;
        rc = rundb_insert(database, insert, values, 2 + 2 * N_OUTCOMES, err);
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
    if (rc == 0)
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
