/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_totals.h"

#include "queries/database/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_sums.h"
#include "support/error.h"
#include "support/saturating.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENDED_BY_NOTHING = 0,
    ENDED_BY_FREE = 1,
    ENDED_BY_EXEC = 4,
    TEMPORARY_INTERVENING = 1, /* of the word "temporary" */
    UNKNOWN = -1,
    N_WAITING = 256,
    N_AHEAD = 8
};

/* What a thread's rows need to know of its process. */
struct thread {
    uint32_t process;
    int64_t peak_ns;
};

/* The values of one row. */
struct row {
    size_t thread, backtrace;
    int64_t size_bytes, slack_bytes;
    int64_t alloc_ns, lifetime_ns; /* lifetime_ns: UNKNOWN when it never ended */
    int64_t ended_by;
    int64_t intervening, free_backtrace; /* UNKNOWN: NULL */
};

struct scan {
    struct rundb *database;
    struct row waiting[N_WAITING]; /* read, not yet counted */
    size_t n_waiting;
    struct thread *threads; /* by thread_id */
    size_t n_threads;
    struct row_sums sums;
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

static const char scanned_columns[] =
    "a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by,"
    " a.slack_bytes, a.intervening_allocations, a.free_backtrace_id";

enum scanned_column {
    THREAD_ID,
    BACKTRACE_ID,
    SIZE_BYTES,
    ALLOC_NS,
    LIFETIME_NS,
    ENDED_BY,
    SLACK_BYTES,
    INTERVENING,
    FREE_BACKTRACE_ID,
    N_SCANNED
};

#define ADD_ROW "mtrace_add_row"

static int64_t known_number(struct sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL ? UNKNOWN : sqlite3_value_int64(value);
}

static void read_row(struct row *row, struct sqlite3_value **values)
{
    *row = (struct row){
        .thread = (size_t)sqlite3_value_int64(values[THREAD_ID]),
        .backtrace = (size_t)sqlite3_value_int64(values[BACKTRACE_ID]),
        .size_bytes = sqlite3_value_int64(values[SIZE_BYTES]),
        .slack_bytes = sqlite3_value_int64(values[SLACK_BYTES]),
        .alloc_ns = sqlite3_value_int64(values[ALLOC_NS]),
        .lifetime_ns = known_number(values[LIFETIME_NS]),
        .ended_by = sqlite3_value_int64(values[ENDED_BY]),
        .intervening = known_number(values[INTERVENING]),
        .free_backtrace = known_number(values[FREE_BACKTRACE_ID]),
    };
}

static void add_birth(struct row_sum *sum, const struct row *row, int64_t peak_ns)
{
    int64_t size = row->size_bytes;
    int64_t alloc_ns = row->alloc_ns;

    sum->allocated_blocks++;
    saturating_grow(&sum->allocated_bytes, size);
    saturating_grow(&sum->slack_bytes, row->slack_bytes);
    sum->first_ns = smaller(sum->first_ns, alloc_ns);
    sum->last_ns = larger(sum->last_ns, alloc_ns);
    sum->min_size_bytes = smaller(sum->min_size_bytes, size);
    sum->max_size_bytes = larger(sum->max_size_bytes, size);
    if (alloc_ns <= peak_ns
        && (row->lifetime_ns == UNKNOWN || saturating_add(alloc_ns, row->lifetime_ns) > peak_ns)) {
        sum->peak_blocks++;
        saturating_grow(&sum->peak_bytes, size);
    }
}

static void add_end(struct row_sum *sum, const struct row *row)
{
    int64_t size = row->size_bytes;
    int64_t alloc_ns = row->alloc_ns;

    if (row->ended_by == ENDED_BY_NOTHING) {
        sum->leaked_blocks++;
        saturating_grow(&sum->leaked_bytes, size);
        sum->leaked_first_ns = smaller(sum->leaked_first_ns, alloc_ns);
        sum->leaked_last_ns = larger(sum->leaked_last_ns, alloc_ns);
    } else if (row->ended_by == ENDED_BY_EXEC) {
        sum->lost_blocks++;
        saturating_grow(&sum->lost_bytes, size);
    } else {
        saturating_grow(&sum->lifetime_sum_ns, row->lifetime_ns);
    }
    if (row->intervening != UNKNOWN && row->intervening <= TEMPORARY_INTERVENING) {
        sum->temporary_blocks++;
        saturating_grow(&sum->temporary_bytes, size);
    }
}

static const struct thread *thread_of(const struct scan *scan, const struct row *row)
{
    return &scan->threads[row->thread < scan->n_threads ? row->thread : 0];
}

static bool add_row(struct scan *scan, const struct row *row)
{
    const struct thread *thread = thread_of(scan, row);
    struct row_sum *sum;

    if (row->backtrace >= scan->sums.n_backtraces)
        return true; /* a damaged file; such a stack has no names either */
    sum = row_sums_get(&scan->sums, thread->process, (uint32_t)row->backtrace);
    if (!sum)
        return false;
    add_birth(sum, row, thread->peak_ns);
    add_end(sum, row);
    if (row->ended_by != ENDED_BY_FREE || row->free_backtrace == UNKNOWN)
        return true;
    return row_sums_add_free(&scan->sums, sum, (uint32_t)row->free_backtrace, row->size_bytes);
}

static void expect_row(const struct scan *scan, const struct row *row)
{
    row_sums_expect(&scan->sums, thread_of(scan, row)->process, row->backtrace);
}

/* Thread 0 stands for rows without one: they belong to the first process. */
static int read_threads(struct scan *scan, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc =
        rundb_prepare(scan->database,
                      "SELECT t.thread_id, p.process_id, ifnull(p.peak_ns, -1) FROM threads AS t"
                      " JOIN processes AS p ON p.process_id = t.process_id WHERE t.thread_id > 0"
                      " UNION ALL SELECT 0, min(process_id), ifnull(peak_ns, -1) FROM processes",
                      &stmt, err);

    while (rc == 0 && (rc = rundb_step(scan->database, stmt, err)) == 1) {
        struct thread *thread = &scan->threads[database_id(stmt, 0, scan->n_threads)];
        thread->process = (uint32_t)database_id(stmt, 1, scan->sums.n_processes);
        thread->peak_ns = sqlite3_column_int64(stmt, 2);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int prepare_scan(struct scan *scan, struct error *err)
{
    size_t n_processes = 0;
    size_t n_backtraces = 0;
    struct sqlite3 *handle = scan->database->handle;
    int rc = database_ids(handle, "threads", "thread_id", &scan->n_threads, err);

    if (rc == 0)
        rc = database_ids(handle, "processes", "process_id", &n_processes, err);
    if (rc == 0)
        rc = database_ids(handle, "backtraces", "backtrace_id", &n_backtraces, err);
    if (rc != 0)
        return rc;
    scan->threads = calloc(scan->n_threads, sizeof(*scan->threads));
    if (!row_sums_init(&scan->sums, n_processes, n_backtraces) || !scan->threads)
        return error_set(err, ERROR_NOMEM, "no memory for %zu threads", scan->n_threads);
    return read_threads(scan, err);
}

char *row_totals_sql(const struct filter_sql *filter)
{
    return filter_sql_rows(filter, scanned_columns, 0, "");
}

/* ---- the scan ---- */

/* Sums lie in memory in no order: that of a row is fetched while the rows before it are counted. */
static bool count_waiting(struct scan *scan)
{
    size_t n = scan->n_waiting;

    scan->n_waiting = 0;
    for (size_t i = 0; i < N_AHEAD && i < n; i++)
        expect_row(scan, &scan->waiting[i]);
    for (size_t i = 0; i < n; i++) {
        if (i + N_AHEAD < n)
            expect_row(scan, &scan->waiting[i + N_AHEAD]);
        if (!add_row(scan, &scan->waiting[i]))
            return false;
    }
    return true;
}

/* The scan is an aggregate function without a result: SQLite hands it each row's values where they
 * are, which takes half the time of stepping from row to row. */
static void on_row(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    struct scan *scan = sqlite3_user_data(context);

    (void)n_values;
    read_row(&scan->waiting[scan->n_waiting++], values);
    if (scan->n_waiting == N_WAITING && !count_waiting(scan))
        sqlite3_result_error_nomem(context);
}

static void on_end(struct sqlite3_context *context)
{
    if (!count_waiting(sqlite3_user_data(context)))
        sqlite3_result_error_nomem(context);
}

static int set_function(const struct rundb *database, struct scan *scan, struct error *err)
{
    int code = sqlite3_create_function(database->handle, ADD_ROW, N_SCANNED,
                                       SQLITE_UTF8 | SQLITE_DIRECTONLY, scan, NULL,
                                       scan ? on_row : NULL, scan ? on_end : NULL);

    return code == SQLITE_OK ? 0 : rundb_error(database, "preparing to read", err);
}

static int run_scan(struct scan *scan, const struct filter_sql *filter, struct error *err)
{
    char columns[sizeof(ADD_ROW) + sizeof(scanned_columns) + 2];
    struct sqlite3_stmt *stmt = NULL;
    char *sql;
    int rc;

    /* Only threads tell the process of a row; where there is one, 0 does. */
    if (filter->is_of_one_process && !filter->is_restricted)
        (void)snprintf(columns, sizeof(columns), ADD_ROW "(0%s)", strchr(scanned_columns, ','));
    else
        (void)snprintf(columns, sizeof(columns), ADD_ROW "(%s)", scanned_columns);
    sql = filter_sql_rows(filter, columns, 0, "");
    rc = sql ? rundb_prepare(scan->database, sql, &stmt, err)
             : error_set(err, ERROR_NOMEM, "no memory");
    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    filter_sql_bind(filter, stmt);
    rc = rundb_step(scan->database, stmt, err);
    sqlite3_finalize(stmt);
    return rc < 0 || rc > 1 ? rc : 0;
}

static int scan_rows(struct scan *scan, const struct filter_sql *filter, struct error *err)
{
    int rc = set_function(scan->database, scan, err);

    if (rc != 0)
        return rc;
    rc = run_scan(scan, filter, err);
    (void)set_function(scan->database, NULL, NULL);
    return rc;
}

static int put_births(struct scan *scan, struct sqlite3_stmt *insert, struct error *err)
{
    for (size_t i = 0; i < scan->sums.n_births; i++) {
        const struct row_sum *s = &scan->sums.births[i];
        const int64_t values[] = {
            s->process,
            s->backtrace,
            s->allocated_blocks,
            s->allocated_bytes,
            s->allocated_blocks - s->leaked_blocks - s->lost_blocks,
            saturating_subtract(s->allocated_bytes, saturating_add(s->leaked_bytes, s->lost_bytes)),
            s->leaked_blocks,
            s->leaked_bytes,
            s->leaked_first_ns,
            s->leaked_last_ns,
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

        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
            sqlite3_bind_int64(insert, (int)v + 1, values[v]);
        if (s->leaked_blocks == 0) {
            sqlite3_bind_null(insert, 9);
            sqlite3_bind_null(insert, 10);
        }
        int rc = rundb_step(scan->database, insert, err);
        if (rc != 0)
            return rc;
        sqlite3_reset(insert);
    }
    return 0;
}

static int put_frees(struct scan *scan, struct sqlite3_stmt *insert, struct error *err)
{
    for (size_t i = 0; i < scan->sums.n_frees; i++) {
        const struct free_sum *s = &scan->sums.frees[i];

        sqlite3_bind_int64(insert, 1, s->process);
        sqlite3_bind_int64(insert, 2, s->backtrace);
        sqlite3_bind_int64(insert, 3, s->free_backtrace);
        sqlite3_bind_int64(insert, 4, s->blocks);
        sqlite3_bind_int64(insert, 5, s->bytes);
        int rc = rundb_step(scan->database, insert, err);
        if (rc != 0)
            return rc;
        sqlite3_reset(insert);
    }
    return 0;
}

static int put(struct scan *scan, const char *sql,
               int (*what)(struct scan *, struct sqlite3_stmt *, struct error *), struct error *err)
{
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(scan->database, sql, &insert, err);

    if (rc == 0)
        rc = what(scan, insert, err);
    sqlite3_finalize(insert);
    return rc;
}

int row_totals_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct scan scan = {.database = database};
    int rc = prepare_scan(&scan, err);

    if (rc == 0)
        rc = scan_rows(&scan, filter, err);
    if (rc == 0 && !row_sums_finish(&scan.sums)) /* sorted: SQLite appends what comes in order */
        rc = error_set(err, ERROR_NOMEM, "no memory for the totals of %zu stacks",
                       scan.sums.n_births);
    if (rc == 0)
        rc = put(
            &scan,
            "INSERT INTO temp.backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes,"
            " freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns,"
            " temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, first_ns, last_ns, min_size_bytes,"
            " max_size_bytes, slack_bytes, lifetime_sum_ns, culled_blocks, culled_bytes)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,"
            " 0, 0)",
            put_births, err);
    if (rc == 0)
        rc = put(&scan, "INSERT INTO temp.free_sites VALUES (?1, ?2, ?3, ?4, ?5)", put_frees, err);
    row_sums_done(&scan.sums);
    free(scan.threads);
    return rc;
}
