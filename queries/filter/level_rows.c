/* SPDX-License-Identifier: MIT */
#include "queries/filter/level_rows.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/totals/sample_weight.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_sums.h"
#include "queries/filter/row_totals.h"

#include <stddef.h>
#include <stdlib.h>

struct span {
    int64_t start_ns, step_ns; /* the times are start_ns + i * step_ns */
};

struct levels {
    struct rundb *database;
    uint32_t n_instants;
    struct span *spans;                /* by process */
    struct row_totals_range *in_range; /* by process: the analysis range */
    const uint64_t *mean_of;           /* as in row_feed */
    size_t n_processes;
    const uint32_t *site_of; /* as in row_feed */
    struct hash_map changes; /* by process, call site and time */
    struct hash_map squares; /* struct site_square */
};

/* The variance of the growth of a call site from the first time to the last, of samples. Blocks
 * live at both times do not contribute. */
struct site_square {
    uint32_t process, site;
    double variance;
};

/* The index of the first time that is ns or later; n_instants: none. */
static uint32_t instant_of(const struct levels *levels, uint32_t process, int64_t ns)
{
    const struct span *span = &levels->spans[process];
    int64_t instant;

    if (ns <= span->start_ns || span->step_ns <= 0)
        return ns <= span->start_ns ? 0 : levels->n_instants;
    instant =
        saturating_add(saturating_subtract(ns, span->start_ns), span->step_ns - 1) / span->step_ns;
    return instant < levels->n_instants ? (uint32_t)instant : levels->n_instants;
}

static bool add_change(struct levels *levels, const struct scanned_row *row, uint32_t instant,
                       int sign)
{
    return instant >= levels->n_instants
           || row_sums_add_pair(&levels->changes, row, levels->site_of[row->backtrace], instant,
                                sign);
}

static bool add_variance(struct levels *levels, const struct scanned_row *row, uint32_t allocated,
                         uint32_t dead)
{
    bool is_at_first = allocated == 0;
    bool is_at_last = dead >= levels->n_instants;
    struct site_square key = {row->process, levels->site_of[row->backtrace], 0};
    struct site_square *square;

    if (is_at_first == is_at_last)
        return true;
    square =
        hash_map_get(&levels->squares, &key, offsetof(struct site_square, variance), sizeof(key));
    if (square)
        square->variance += row->bytes_variance;
    return square != NULL;
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct levels *levels = context;

    for (size_t i = 0; i < n; i++) {
        const struct scanned_row *row = &rows[i];
        uint32_t allocated = instant_of(levels, row->process, row->alloc_ns);
        uint32_t dead =
            row->lifetime_ns == ROW_FEED_UNKNOWN
                ? levels->n_instants
                : instant_of(levels, row->process, saturating_add(row->alloc_ns, row->lifetime_ns));

        if (allocated == dead)
            continue;
        if (levels->mean_of[row->process] && !add_variance(levels, row, allocated, dead))
            return false;
        if (!add_change(levels, row, allocated, 1) || !add_change(levels, row, dead, -1))
            return false;
    }
    return true;
}

static int read_spans(struct levels *levels, const struct level_rows_request *request,
                      struct error *err)
{
    int64_t n_steps = levels->n_instants - (request->to_ns == INT64_MAX ? 0 : 1);
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        levels->database, "SELECT process_id, start_ns, end_ns FROM _recorded WHERE process_id > 0",
        &stmt, err);

    while (rc == 0 && (rc = rundb_step(levels->database, stmt, err)) == 1) {
        size_t id = (size_t)database_id(stmt, 0, levels->n_processes);
        int64_t start_ns = sqlite3_column_int64(stmt, 1);
        int64_t end_ns = sqlite3_column_int64(stmt, 2);

        rc = 0;
        start_ns = request->from_ns > start_ns ? request->from_ns : start_ns;
        end_ns = request->to_ns < end_ns ? request->to_ns : end_ns;
        levels->in_range[id] = (struct row_totals_range){start_ns, end_ns, true};
        if (id > 0 && end_ns > start_ns)
            levels->spans[id] =
                (struct span){start_ns, saturating_subtract(end_ns, start_ns) / n_steps};
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- tables ---- */

/* The id of a time: ids of one process are consecutive. */
static int64_t snapshot_id(const struct levels *levels, uint32_t process, uint32_t instant)
{
    return (int64_t)process * levels->n_instants + instant;
}

static int put_snapshots(const struct levels *levels, struct error *err)
{
    struct sqlite3_stmt *insert;
    int rc =
        rundb_prepare(levels->database, "INSERT INTO temp.snapshots VALUES (?1, ?2, ?3, 'regular')",
                      &insert, err);

    for (uint32_t process = 1; rc == 0 && process < levels->n_processes; process++) {
        const struct span *span = &levels->spans[process];

        for (uint32_t i = 0; rc == 0 && span->step_ns > 0 && i < levels->n_instants; i++) {
            const int64_t values[] = {snapshot_id(levels, process, i), process,
                                      span->start_ns + i * span->step_ns};

            rc = rundb_insert(levels->database, insert, values, 3, err);
        }
    }
    sqlite3_finalize(insert);
    return rc;
}

static int put_changes(struct levels *levels, struct error *err)
{
    const struct pair_totals_entry *changes;
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(levels->database,
                           "INSERT INTO temp.snapshot_sites VALUES (?1, nullif(?2, 0), ?3, ?4)",
                           &insert, err);

    pair_totals_sort(&levels->changes);
    changes = levels->changes.elements;
    for (size_t i = 0; rc == 0 && i < levels->changes.n; i++) {
        const struct pair_totals_entry *change = &changes[i];
        const int64_t values[] = {snapshot_id(levels, change->process, change->to), change->from,
                                  (int64_t)change->bytes, (int64_t)change->blocks};

        if (change->blocks != 0 || change->bytes != 0)
            rc = rundb_insert(levels->database, insert, values, 4, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static int put_squares(const struct levels *levels, struct error *err)
{
    const struct site_square *list = levels->squares.elements;
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_prepare(levels->database,
                           "INSERT INTO temp._growth_squares VALUES (?1, nullif(?2, 0), ?3)",
                           &insert, err);

    for (size_t i = 0; rc == 0 && i < levels->squares.n; i++) {
        const int64_t values[] = {list[i].process, list[i].site};
        double margin = sample_weight_margin(list[i].variance);

        sqlite3_bind_double(insert, 3, margin * margin);
        rc = rundb_insert(levels->database, insert, values, 2, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static const char tables_sql[] =
    "CREATE TEMP TABLE snapshots(snapshot_id INTEGER PRIMARY KEY, process_id INTEGER, at_ns INTEGER,"
    " reason TEXT);"
    "CREATE TEMP TABLE snapshot_sites(snapshot_id INTEGER, call_site_id INTEGER,"
    " change_bytes INTEGER, change_blocks INTEGER);"
    "DROP VIEW temp._growth_squares;"
    "CREATE TEMP TABLE _growth_squares(process_id INTEGER, call_site_id INTEGER, bytes_square REAL)";

int level_rows_fill(struct rundb *database, const struct level_rows_request *request,
                    struct error *err)
{
    struct levels levels = {.database = database, .n_instants = request->n_instants};
    struct row_feed scan;
    int rc = row_feed_init(&scan, database, err);

    if (rc == 0) {
        scan.without = LEVEL_ROWS_WITHOUT;
        levels.n_processes = scan.n_processes;
        levels.mean_of = scan.mean_of;
        levels.in_range = calloc(scan.n_processes, sizeof(*levels.in_range));
        levels.spans = calloc(scan.n_processes, sizeof(*levels.spans));
        if (!levels.spans || !levels.in_range)
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu processes", scan.n_processes);
    }
    if (rc == 0)
        rc = read_spans(&levels, request, err);
    if (rc == 0)
        rc = row_feed_read_sites(&scan, err);
    levels.site_of = scan.site_of;
    if (rc == 0)
        rc = row_feed_run(&scan, request->filter, take, &levels, err);
    if (rc == 0)
        rc = rundb_run(database, tables_sql, err);
    if (rc == 0)
        rc = put_snapshots(&levels, err);
    if (rc == 0)
        rc = put_changes(&levels, err);
    if (rc == 0)
        rc = put_squares(&levels, err);
    if (rc == 0)
        rc = row_totals_put_range(database, levels.in_range, levels.n_processes, err);
    row_feed_done(&scan);
    hash_map_done(&levels.changes);
    hash_map_done(&levels.squares);
    free(levels.in_range);
    free(levels.spans);
    return rc;
}
