/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_scan.h"

#include "queries/database/rundb.h"
#include "queries/filter/filter_sql.h"
#include "support/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_WAITING = 256
};

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

#define TAKE_ROW "mtrace_take_row"

struct run {
    const struct row_scan *scan;
    row_scan_take *take;
    void *context;
    struct scanned_row waiting[N_WAITING];
    size_t n_waiting;
};

/* ---- ids ---- */

/* Thread 0 stands for rows without one: they belong to the first process. */
static int read_threads(struct row_scan *scan, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(scan->database,
                           "SELECT t.thread_id, p.process_id FROM threads AS t"
                           " JOIN processes AS p ON p.process_id = t.process_id"
                           " WHERE t.thread_id > 0"
                           " UNION ALL SELECT 0, min(process_id) FROM processes",
                           &stmt, err);

    while (rc == 0 && (rc = rundb_step(scan->database, stmt, err)) == 1) {
        scan->process_of[database_id(stmt, 0, scan->n_threads)] =
            (uint32_t)database_id(stmt, 1, scan->n_processes);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

int row_scan_init(struct row_scan *scan, const struct rundb *database, struct error *err)
{
    int rc;

    *scan = (struct row_scan){.database = database};
    rc = database_ids(database->handle, "threads", "thread_id", &scan->n_threads, err);
    if (rc == 0)
        rc = database_ids(database->handle, "processes", "process_id", &scan->n_processes, err);
    if (rc == 0)
        rc = database_ids(database->handle, "backtraces", "backtrace_id", &scan->n_backtraces, err);
    if (rc != 0)
        return rc;
    scan->process_of = calloc(scan->n_threads, sizeof(*scan->process_of));
    if (!scan->process_of)
        return error_set(err, ERROR_NOMEM, "no memory for %zu threads", scan->n_threads);
    return read_threads(scan, err);
}

void row_scan_done(struct row_scan *scan)
{
    free(scan->process_of);
    scan->process_of = NULL;
}

/* ---- rows ---- */

static int64_t known_number(struct sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL ? ROW_SCAN_UNKNOWN : sqlite3_value_int64(value);
}

static bool hand_on(struct run *run)
{
    size_t n = run->n_waiting;

    run->n_waiting = 0;
    return run->take(run->context, run->waiting, n);
}

static void on_row(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    struct run *run = sqlite3_user_data(context);
    size_t thread = (size_t)sqlite3_value_int64(values[THREAD_ID]);
    size_t backtrace = (size_t)sqlite3_value_int64(values[BACKTRACE_ID]);

    (void)n_values;
    if (backtrace >= run->scan->n_backtraces)
        return; /* a damaged file; such a stack has no names either */
    run->waiting[run->n_waiting++] = (struct scanned_row){
        .process = run->scan->process_of[thread < run->scan->n_threads ? thread : 0],
        .backtrace = (uint32_t)backtrace,
        .size_bytes = sqlite3_value_int64(values[SIZE_BYTES]),
        .slack_bytes = sqlite3_value_int64(values[SLACK_BYTES]),
        .alloc_ns = sqlite3_value_int64(values[ALLOC_NS]),
        .lifetime_ns = known_number(values[LIFETIME_NS]),
        .ended_by = sqlite3_value_int64(values[ENDED_BY]),
        .intervening = known_number(values[INTERVENING]),
        .free_backtrace = known_number(values[FREE_BACKTRACE_ID]),
    };
    if (run->n_waiting == N_WAITING && !hand_on(run))
        sqlite3_result_error_nomem(context);
}

static void on_end(struct sqlite3_context *context)
{
    if (!hand_on(sqlite3_user_data(context)))
        sqlite3_result_error_nomem(context);
}

static int set_function(const struct rundb *database, struct run *run, struct error *err)
{
    int code = sqlite3_create_function(database->handle, TAKE_ROW, N_SCANNED,
                                       SQLITE_UTF8 | SQLITE_DIRECTONLY, run, NULL,
                                       run ? on_row : NULL, run ? on_end : NULL);

    return code == SQLITE_OK ? 0 : rundb_error(database, "preparing to read", err);
}

static int run_statement(const struct row_scan *scan, const struct filter_sql *filter,
                         struct error *err)
{
    char columns[sizeof(TAKE_ROW) + sizeof(scanned_columns) + 2];
    struct sqlite3_stmt *stmt = NULL;
    char *sql;
    int rc;

    /* Only threads tell the process of a row; where there is one, 0 does. */
    if (filter->is_of_one_process && !filter->is_restricted)
        (void)snprintf(columns, sizeof(columns), TAKE_ROW "(0%s)", strchr(scanned_columns, ','));
    else
        (void)snprintf(columns, sizeof(columns), TAKE_ROW "(%s)", scanned_columns);
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

int row_scan_run(const struct row_scan *scan, const struct filter_sql *filter, row_scan_take *take,
                 void *context, struct error *err)
{
    struct run run = {.scan = scan, .take = take, .context = context};
    int rc = set_function(scan->database, &run, err);

    if (rc != 0)
        return rc;
    rc = run_statement(scan, filter, err);
    (void)set_function(scan->database, NULL, NULL);
    return rc;
}

char *row_scan_sql(const struct filter_sql *filter)
{
    return filter_sql_rows(filter, scanned_columns, 0, "");
}
