/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_scan.h"

#include "queries/database/rundb.h"
#include "queries/filter/filter_sql.h"
#include "support/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_WAITING = 256,
    ROOT_GROUP = 1
};

static const char scanned_columns[] =
    "a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by,"
    " a.slack_bytes, a.intervening_allocations, a.free_backtrace_id";

static const char whole_columns[] =
    ", a.allocation_id, a.thread_id, a.other_free_thread_id, q.group_id, q.free_group_id";

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
    N_SCANNED,
    ALLOCATION_ID = N_SCANNED,
    OWN_THREAD_ID,
    OTHER_THREAD_ID,
    GROUP_ID,
    FREE_GROUP_ID,
    N_WHOLE
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

static uint32_t known_group(struct sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL ? ROOT_GROUP
                                                    : (uint32_t)sqlite3_value_int64(value);
}

static uint32_t known_thread(const struct row_scan *scan, struct sqlite3_value *value)
{
    int64_t thread = sqlite3_value_int64(value);

    return thread > 0 && (uint64_t)thread < scan->n_threads ? (uint32_t)thread : 0;
}

static void complete(const struct row_scan *scan, struct sqlite3_value **values,
                     struct scanned_row *row)
{
    bool is_other = sqlite3_value_type(values[OTHER_THREAD_ID]) != SQLITE_NULL;

    row->allocation_id = sqlite3_value_int64(values[ALLOCATION_ID]);
    row->thread = known_thread(scan, values[OWN_THREAD_ID]);
    row->group = known_group(values[GROUP_ID]);
    if (!row_scan_is_ended_by_call(row))
        return;
    row->free_thread = is_other ? known_thread(scan, values[OTHER_THREAD_ID]) : row->thread;
    row->free_group = known_group(values[FREE_GROUP_ID]);
}

static void on_row(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    struct run *run = sqlite3_user_data(context);
    size_t thread = (size_t)sqlite3_value_int64(values[THREAD_ID]);
    size_t backtrace = (size_t)sqlite3_value_int64(values[BACKTRACE_ID]);

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
    if (n_values == N_WHOLE)
        complete(run->scan, values, &run->waiting[run->n_waiting - 1]);
    if (run->n_waiting == N_WAITING && !hand_on(run))
        sqlite3_result_error_nomem(context);
}

static void on_end(struct sqlite3_context *context)
{
    if (!hand_on(sqlite3_user_data(context)))
        sqlite3_result_error_nomem(context);
}

static int set_function(const struct rundb *database, struct run *run, int n_columns,
                        struct error *err)
{
    int code = sqlite3_create_function(database->handle, TAKE_ROW, n_columns,
                                       SQLITE_UTF8 | SQLITE_DIRECTONLY, run, NULL,
                                       run ? on_row : NULL, run ? on_end : NULL);

    return code == SQLITE_OK ? 0 : rundb_error(database, "preparing to read", err);
}

static int run_statement(const struct row_scan *scan, const struct filter_sql *filter,
                         bool is_whole, struct error *err)
{
    /* Only threads tell the process of a row; where there is one, 0 does. */
    bool is_asked = !filter->is_of_one_process || filter->is_restricted;
    char columns[sizeof(TAKE_ROW) + sizeof(scanned_columns) + sizeof(whole_columns) + 3];
    struct sqlite3_stmt *stmt = NULL;
    char *sql;
    int rc;

    (void)snprintf(columns, sizeof(columns), TAKE_ROW "(%s%s%s)", is_asked ? "" : "0",
                   is_asked ? scanned_columns : strchr(scanned_columns, ','),
                   is_whole ? whole_columns : "");
    sql = filter_sql_rows(filter, columns, is_whole ? FILTER_NEEDS_CHARGE : 0u, "");
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

static int scan_rows(const struct row_scan *scan, const struct filter_sql *filter, bool is_whole,
                     struct run *run, struct error *err)
{
    int n_columns = is_whole ? N_WHOLE : N_SCANNED;
    int rc = set_function(scan->database, run, n_columns, err);

    if (rc != 0)
        return rc;
    rc = run_statement(scan, filter, is_whole, err);
    (void)set_function(scan->database, NULL, n_columns, NULL);
    return rc;
}

int row_scan_run(const struct row_scan *scan, const struct filter_sql *filter, row_scan_take *take,
                 void *context, struct error *err)
{
    return scan_rows(scan, filter, false,
                     &(struct run){.scan = scan, .take = take, .context = context}, err);
}

int row_scan_run_whole(const struct row_scan *scan, const struct filter_sql *filter,
                       row_scan_take *take, void *context, struct error *err)
{
    return scan_rows(scan, filter, true,
                     &(struct run){.scan = scan, .take = take, .context = context}, err);
}

char *row_scan_sql(const struct filter_sql *filter)
{
    return filter_sql_rows(filter, scanned_columns, 0, "");
}

int row_scan_show(const struct rundb *database, const struct filter_sql *filter, const char *what,
                  FILE *out, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char *sql = row_scan_sql(filter);
    int rc = sql ? rundb_prepare(database, sql, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    if (rc == 0) {
        (void)fprintf(out, "-- What %s below is made of:\n", what);
        filter_sql_bind(filter, stmt);
        rundb_show_sql(stmt, out);
    }
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc;
}
