/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_totals.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/totals/sample_weight.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/own_peaks.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_sums.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char range_table_sql[] =
    "DROP VIEW temp._judged;"
    "CREATE TEMP TABLE _judged(process_id INTEGER PRIMARY KEY, start_ns, end_ns)";

int row_totals_put_range(struct rundb *database, const struct row_totals_range *times,
                         size_t n_processes, struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, range_table_sql, err);

    if (rc == 0)
        rc = rundb_prepare(database, "INSERT INTO temp._judged VALUES (?1, ?2, ?3)", &insert, err);
    for (size_t id = 1; rc == 0 && id < n_processes; id++) {
        const int64_t values[] = {(int64_t)id, times[id].start_ns, times[id].end_ns};

        if (times[id].is_known)
            rc = rundb_insert(database, insert, values, sizeof(values) / sizeof(values[0]), err);
    }
    sqlite3_finalize(insert);
    return rc;
}

enum {
    N_AHEAD = 8,
    N_PARTS = 64 /* of leaked_allocations */
};

/* What rows need to know of their process. */
struct life {
    int64_t peak_ns;
    int64_t start_ns;
    int64_t in_range_ns; /* leaks are those of this time; INT64_MAX: of the end */
    int64_t part_ns;
};

/* Variances of the sums of one stack for samples, in the order of the margin columns. */
enum {
    ALLOCATED_BLOCKS,
    ALLOCATED_BYTES,
    LEAKED_BLOCKS,
    LEAKED_BYTES,
    PEAK_BLOCKS,
    PEAK_BYTES,
    N_VARIANCES
};

struct variances {
    double of[N_VARIANCES];
};

struct totals {
    struct rundb *database;
    const struct row_totals_request *request;
    const uint64_t *mean_of;     /* as in row_feed */
    struct variances *variances; /* by row_sum.place, of processes with samples */
    size_t variances_capacity;
    struct life *lives; /* by process */
    struct row_totals_range *in_range;
    size_t n_processes;
    struct row_sums sums;
    struct own_peaks peaks;
};

/* ---- rows ---- */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t end_of(const struct scanned_row *row)
{
    return row->lifetime_ns == ROW_FEED_UNKNOWN ? INT64_MAX
                                                : saturating_add(row->alloc_ns, row->lifetime_ns);
}

static void add_allocation(struct row_sum *sum, const struct scanned_row *row, int64_t peak_ns)
{
    int64_t size = row->size_bytes;
    int64_t alloc_ns = row->alloc_ns;

    sum->allocated_blocks += row->blocks;
    saturating_grow(&sum->allocated_bytes, row->bytes);
    saturating_grow(&sum->slack_bytes, saturating_multiply(row->blocks, row->slack_bytes));
    sum->first_ns = smaller(sum->first_ns, alloc_ns);
    sum->last_ns = larger(sum->last_ns, alloc_ns);
    sum->min_size_bytes = smaller(sum->min_size_bytes, size);
    sum->max_size_bytes = larger(sum->max_size_bytes, size);
    if (alloc_ns <= peak_ns && end_of(row) > peak_ns) {
        sum->peak_blocks += row->blocks;
        saturating_grow(&sum->peak_bytes, row->bytes);
    }
}

/* The part of the analysis range; all parts are equally long. */
static uint32_t part_of(const struct life *life, int64_t alloc_ns)
{
    int64_t part = life->part_ns > 0 && alloc_ns > life->start_ns
                       ? saturating_subtract(alloc_ns, life->start_ns) / life->part_ns
                       : 0;

    return part < N_PARTS ? (uint32_t)part : N_PARTS - 1;
}

static bool add_leak(struct totals *totals, struct row_sum *sum, const struct scanned_row *row,
                     const struct life *life)
{
    sum->leaked_blocks += row->blocks;
    saturating_grow(&sum->leaked_bytes, row->bytes);
    sum->leaked_first_ns = smaller(sum->leaked_first_ns, row->alloc_ns);
    sum->leaked_last_ns = larger(sum->leaked_last_ns, row->alloc_ns);
    return row_sums_add_pair(&totals->sums.leaks, row, row->backtrace, part_of(life, row->alloc_ns),
                             1);
}

static void add_variance(struct variances *variances, unsigned blocks,
                         const struct scanned_row *row)
{
    variances->of[blocks] += row->blocks_variance;
    variances->of[blocks + 1] += row->bytes_variance;
}

/* Kept outside the sums, so recordings without samples have small sums. */
static bool add_variances(struct totals *totals, size_t place, const struct scanned_row *row,
                          int64_t peak_ns)
{
    struct variances *list = dynamic_array_reserve(totals->variances, &totals->variances_capacity,
                                                   place + 1, sizeof(*list));

    if (!list)
        return false;
    totals->variances = list;
    add_variance(&list[place], ALLOCATED_BLOCKS, row);
    if (row->ended_by == ROW_FEED_LEAKED)
        add_variance(&list[place], LEAKED_BLOCKS, row);
    if (row->alloc_ns <= peak_ns && end_of(row) > peak_ns)
        add_variance(&list[place], PEAK_BLOCKS, row);
    return true;
}

static bool add_end(struct totals *totals, struct row_sum *sum, const struct scanned_row *row,
                    const struct life *life)
{
    if (row->ended_by == ROW_FEED_LEAKED)
        return add_leak(totals, sum, row, life);
    if (row->ended_by == ROW_FEED_EXEC) {
        sum->lost_blocks += row->blocks;
        saturating_grow(&sum->lost_bytes, row->bytes);
    } else {
        saturating_grow(&sum->lifetime_sum_ns, saturating_multiply(row->blocks, row->lifetime_ns));
    }
    if (row_feed_is_temporary(row)) {
        sum->temporary_blocks += row->blocks;
        saturating_grow(&sum->temporary_bytes, row->bytes);
    }
    return true;
}

static bool add_row(struct totals *totals, const struct scanned_row *row)
{
    const struct life *life = &totals->lives[row->process];
    struct scanned_row seen = *row;
    struct row_sum *sum;

    if (row->alloc_ns > life->in_range_ns)
        return true;
    if (end_of(row) > life->in_range_ns) {
        seen.lifetime_ns = seen.intervening = seen.free_backtrace = ROW_FEED_UNKNOWN;
        seen.ended_by = ROW_FEED_LEAKED;
    }
    sum = row_sums_get(&totals->sums, seen.process, seen.backtrace);
    if (!sum)
        return false;
    add_allocation(sum, &seen, life->peak_ns);
    if (totals->mean_of[seen.process] && !add_variances(totals, sum->place, &seen, life->peak_ns))
        return false;
    if (!add_end(totals, sum, &seen, life))
        return false;
    if (totals->request->has_own_peaks
        && !own_peaks_allocated(&totals->peaks, sum->place, seen.alloc_ns,
                                (struct own_peaks_size){seen.bytes, seen.bytes_variance},
                                end_of(&seen)))
        return false;
    if (seen.ended_by != ROW_FEED_FREED || seen.free_backtrace == ROW_FEED_UNKNOWN)
        return true;
    return row_sums_add_free(&totals->sums, sum, (uint32_t)seen.free_backtrace, &seen);
}

/* Sums are scattered in memory: prefetch that of a row while earlier rows are counted. */
static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct totals *totals = context;

    for (size_t i = 0; i < N_AHEAD && i < n; i++)
        row_sums_expect(&totals->sums, rows[i].process, rows[i].backtrace);
    for (size_t i = 0; i < n; i++) {
        if (i + N_AHEAD < n)
            row_sums_expect(&totals->sums, rows[i + N_AHEAD].process, rows[i + N_AHEAD].backtrace);
        if (!add_row(totals, &rows[i]))
            return false;
    }
    return true;
}

/* ---- processes ---- */

static int64_t in_range_of(const struct totals *totals, int64_t peak_ns, int64_t end_ns)
{
    const struct filter_value *as_of = totals->request->as_of;

    if (!as_of)
        return INT64_MAX;
    if (as_of->is_end)
        return end_ns;
    return as_of->is_peak ? peak_ns : filter_sql_resolve(totals->request->filter, as_of);
}

static int64_t resolve_or(const struct totals *totals, const struct filter_value *value,
                          int64_t otherwise)
{
    return value ? filter_sql_resolve(totals->request->filter, value) : otherwise;
}

static int read_lives(struct totals *totals, struct error *err)
{
    const int64_t from_ns = resolve_or(totals, totals->request->from, INT64_MIN);
    const int64_t to_ns = resolve_or(totals, totals->request->to, INT64_MAX);
    struct sqlite3_stmt *stmt;
    int rc =
        rundb_prepare(totals->database,
                      "SELECT p.process_id, ifnull(p.peak_ns, -1), r.start_ns, r.end_ns, p.end_ns"
                      " FROM processes AS p JOIN _recorded AS r ON r.process_id = p.process_id"
                      " WHERE p.process_id > 0",
                      &stmt, err);

    while (rc == 0 && (rc = rundb_step(totals->database, stmt, err)) == 1) {
        int64_t end_ns = sqlite3_column_int64(stmt, 3); /* of the last window */
        size_t id = (size_t)database_id(stmt, 0, totals->n_processes);
        struct life *life = &totals->lives[id];

        life->peak_ns = sqlite3_column_int64(stmt, 1);
        life->start_ns = larger(sqlite3_column_int64(stmt, 2), from_ns);
        life->in_range_ns = in_range_of(totals, life->peak_ns, sqlite3_column_int64(stmt, 4));
        end_ns = smaller(smaller(life->in_range_ns, end_ns), to_ns);
        life->part_ns = saturating_subtract(end_ns, life->start_ns) / N_PARTS;
        totals->in_range[id] = (struct row_totals_range){life->start_ns, end_ns, true};
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- tables ---- */

enum {
    LEAKED_FIRST = 20,
    LEAKED_LAST,
    OWN_PEAK_BYTES,
    OWN_PEAK_NS,
    FIRST_MARGIN
};

static int put_allocation(const struct totals *totals, struct sqlite3_stmt *insert, size_t place,
                          struct error *err)
{
    const struct row_sum *s = &totals->sums.allocations[place];
    const int64_t values[] = {
        s->process,
        s->backtrace,
        s->allocated_blocks,
        s->allocated_bytes,
        s->allocated_blocks - s->leaked_blocks - s->lost_blocks,
        saturating_subtract(s->allocated_bytes, saturating_add(s->leaked_bytes, s->lost_bytes)),
        s->leaked_blocks,
        s->leaked_bytes,
        s->temporary_blocks,
        s->temporary_bytes,
        s->peak_blocks,
        s->peak_bytes,
        s->first_ns,
        s->last_ns,
        s->min_size_bytes,
        s->max_size_bytes,
        s->slack_bytes,
        s->lifetime_sum_ns};

    if (s->leaked_blocks > 0) {
        sqlite3_bind_int64(insert, LEAKED_FIRST, s->leaked_first_ns);
        sqlite3_bind_int64(insert, LEAKED_LAST, s->leaked_last_ns);
    }
    if (totals->request->has_own_peaks) {
        const struct own_peak *peak = &totals->peaks.list[s->place];

        sqlite3_bind_int64(insert, OWN_PEAK_BYTES, peak->peak_bytes);
        sqlite3_bind_int64(insert, OWN_PEAK_NS, peak->peak_bytes ? peak->peak_ns : s->first_ns);
    }
    for (int i = 0; totals->mean_of[s->process] && i < N_VARIANCES; i++)
        sqlite3_bind_double(insert, FIRST_MARGIN + i,
                            sample_weight_margin(totals->variances[s->place].of[i]));
    return rundb_insert(totals->database, insert, values, sizeof(values) / sizeof(values[0]), err);
}

static int put_allocations(const struct totals *totals, struct error *err)
{
    const bool is_of_leaks = totals->request->is_of_leaks;
    struct sqlite3_stmt *insert;
    char sql[1024];
    int rc;

    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO temp.backtrace_totals(process_id, backtrace_id, allocated_blocks,"
                   " allocated_bytes, freed_blocks, freed_bytes, leaked_blocks, leaked_bytes,"
                   " temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, first_ns, last_ns,"
                   " min_size_bytes, max_size_bytes, slack_bytes, lifetime_sum_ns, elided_blocks,"
                   " elided_bytes, leaked_first_ns, leaked_last_ns, own_peak_bytes, own_peak_ns,"
                   " allocated_blocks_margin, allocated_bytes_margin, leaked_blocks_margin,"
                   " leaked_bytes_margin, peak_blocks_margin, peak_bytes_margin)"
                   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, %s, ?13, ?14, ?15, ?16, %s,"
                   " 0, 0, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)",
                   is_of_leaks ? "NULL, NULL, NULL, NULL" : "?9, ?10, ?11, ?12",
                   is_of_leaks ? "NULL, NULL" : "?17, ?18");
    rc = rundb_prepare(totals->database, sql, &insert, err);

    for (size_t i = 0; rc == 0 && i < totals->sums.n_allocations; i++) {
        rc = put_allocation(totals, insert, i, err);
        sqlite3_clear_bindings(insert);
    }
    sqlite3_finalize(insert);
    return rc;
}

/* In order, so that SQLite appends. */
static int put_all(struct totals *totals, struct error *err)
{
    int rc = put_allocations(totals, err);

    if (rc == 0)
        rc = row_sums_put_pairs(totals->database, &totals->sums.frees,
                                "INSERT INTO temp.free_sites VALUES (?1, ?2, ?3, ?4, ?5)", err);
    if (rc == 0)
        rc = row_sums_put_pairs(totals->database, &totals->sums.leaks,
                                "INSERT INTO temp.leaked_allocations VALUES (?1, ?2, ?3, ?4, ?5)",
                                err);
    return rc == 0 && (totals->request->as_of || totals->request->from || totals->request->to)
               ? row_totals_put_range(totals->database, totals->in_range, totals->n_processes, err)
               : rc;
}

unsigned row_totals_without(const struct row_totals_request *request)
{
    if (!request->is_of_leaks)
        return 0;
    return ROW_FEED_SLACK | ROW_FEED_INTERVENING | (request->as_of ? 0u : ROW_FEED_LIFETIME);
}

int row_totals_fill(struct rundb *database, const struct row_totals_request *request,
                    struct error *err)
{
    struct totals totals = {.database = database, .request = request};
    struct row_feed scan;
    int rc = row_feed_init(&scan, database, err);

    scan.without = row_totals_without(request);
    if (rc == 0) {
        totals.n_processes = scan.n_processes;
        totals.mean_of = scan.mean_of;
        totals.lives = calloc(scan.n_processes, sizeof(*totals.lives));
        totals.in_range = calloc(scan.n_processes, sizeof(*totals.in_range));
        if (!row_sums_init(&totals.sums, scan.n_processes, scan.n_backtraces) || !totals.lives
            || !totals.in_range)
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu processes", scan.n_processes);
    }
    if (rc == 0)
        rc = read_lives(&totals, err);
    if (rc == 0)
        rc = row_feed_run(&scan, request->filter, take, &totals, err);
    if (rc == 0)
        own_peaks_finish(&totals.peaks);
    if (rc == 0 && !row_sums_finish(&totals.sums))
        rc = error_set(err, ERROR_NOMEM, "no memory for the totals of %zu stacks",
                       totals.sums.n_allocations);
    if (rc == 0)
        rc = put_all(&totals, err);
    row_feed_done(&scan);
    row_sums_done(&totals.sums);
    own_peaks_done(&totals.peaks);
    free(totals.variances);
    free(totals.lives);
    free(totals.in_range);
    return rc;
}
