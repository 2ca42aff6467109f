/* SPDX-License-Identifier: MIT */
#include "queries/filter/row_feed.h"

#include "lib/base/error.h"
#include "lib/totals/sample_weight.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_WAITING = 256,
    ROOT_GROUP = 1
};

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
    IS_ABOVE,
    N_SCANNED,
    ALLOCATION_ID = N_SCANNED,
    OWN_THREAD_ID,
    OTHER_THREAD_ID,
    GROUP_ID,
    FREE_GROUP_ID,
    N_WHOLE
};

static const struct {
    const char *name;
    unsigned part;     /* where it is left out, it is `otherwise` */
    int64_t otherwise; /* of the parts, and of the thread where none is asked for */
} columns[N_WHOLE] = {
    [THREAD_ID] = {"a.thread_id", 0, 0},
    [BACKTRACE_ID] = {"a.backtrace_id", 0, 0},
    [SIZE_BYTES] = {"a.size_bytes", 0, 0},
    [ALLOC_NS] = {"a.alloc_ns", 0, 0},
    [LIFETIME_NS] = {"a.lifetime_ns", ROW_FEED_LIFETIME, ROW_FEED_UNKNOWN},
    [ENDED_BY] = {"a.ended_by", 0, 0},
    [SLACK_BYTES] = {"a.slack_bytes", ROW_FEED_SLACK, 0},
    [INTERVENING] = {"a.intervening_allocations", ROW_FEED_INTERVENING, ROW_FEED_UNKNOWN},
    [FREE_BACKTRACE_ID] = {"a.free_backtrace_id", ROW_FEED_FREE, ROW_FEED_UNKNOWN},
    [IS_ABOVE] = {"a.is_above", 0, 0}, /* left out where nothing is a sample */
    [ALLOCATION_ID] = {"a.allocation_id", 0, 0},
    [OWN_THREAD_ID] = {"a.thread_id", 0, 0},
    [OTHER_THREAD_ID] = {"a.other_free_thread_id", 0, 0},
    [GROUP_ID] = {"q.group_id", 0, 0},
    [FREE_GROUP_ID] = {"q.free_group_id", 0, 0},
};

enum {
    COLUMNS_BYTES = 512,
    LEFT_OUT = -1
};

static const int64_t MAX_MEAN_BYTES = (int64_t)1 << 42;

#define TAKE_ROW "mtrace_take_row"

struct run {
    const struct row_feed *scan;
    int place[N_WHOLE]; /* of a column among the values of a row, or LEFT_OUT */
    int n_values;
    row_feed_take *take;
    void *context;
    struct scanned_row waiting[N_WAITING];
    size_t n_waiting;
};

/* ---- ids ---- */

/* A damaged file may contain any value; sums of weights must stay finite. */
static uint64_t known_mean(int64_t bytes)
{
    return (uint64_t)(bytes <= 0 ? 0 : bytes > MAX_MEAN_BYTES ? MAX_MEAN_BYTES : bytes);
}

/* Thread 0 stands for rows without a thread. They belong to the first process, whose row SQLite
 * takes for min(). */
static int read_threads(struct row_feed *scan, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(scan->database,
                           "SELECT t.thread_id, p.process_id, p.sample_bytes FROM threads AS t"
                           " JOIN processes AS p ON p.process_id = t.process_id"
                           " WHERE t.thread_id > 0"
                           " UNION ALL SELECT 0, min(process_id), sample_bytes FROM processes",
                           &stmt, err);

    while (rc == 0 && (rc = rundb_step(scan->database, stmt, err)) == 1) {
        size_t process = (size_t)database_id(stmt, 1, scan->n_processes);

        scan->process_of[database_id(stmt, 0, scan->n_threads)] = (uint32_t)process;
        scan->mean_of[process] = known_mean(sqlite3_column_int64(stmt, 2));
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

int row_feed_init(struct row_feed *scan, const struct rundb *database, struct error *err)
{
    int rc;

    *scan = (struct row_feed){.database = database};
    rc = database_ids(database->handle, "threads", "thread_id", &scan->n_threads, err);
    if (rc == 0)
        rc = database_ids(database->handle, "processes", "process_id", &scan->n_processes, err);
    if (rc == 0)
        rc = database_ids(database->handle, "backtraces", "backtrace_id", &scan->n_backtraces, err);
    if (rc != 0)
        return rc;
    scan->process_of = calloc(scan->n_threads, sizeof(*scan->process_of));
    scan->mean_of = calloc(scan->n_processes, sizeof(*scan->mean_of));
    if (!scan->process_of || !scan->mean_of)
        return error_set(err, ERROR_NOMEM, "no memory for %zu threads", scan->n_threads);
    return read_threads(scan, err);
}

void row_feed_done(struct row_feed *scan)
{
    free(scan->process_of);
    free(scan->mean_of);
    free(scan->site_of);
    scan->process_of = NULL;
    scan->mean_of = NULL;
    scan->site_of = NULL;
}

int row_feed_read_sites(struct row_feed *scan, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc;

    scan->site_of = calloc(scan->n_backtraces, sizeof(*scan->site_of));
    if (!scan->site_of)
        return error_set(err, ERROR_NOMEM, "no memory for %zu stacks", scan->n_backtraces);
    rc = rundb_prepare(scan->database,
                       "SELECT backtrace_id, call_site_id FROM backtraces"
                       " WHERE call_site_id > 0 AND backtrace_id > 0",
                       &stmt, err);
    while (rc == 0 && (rc = rundb_step(scan->database, stmt, err)) == 1) {
        rc = 0;
        scan->site_of[database_id(stmt, 0, scan->n_backtraces)] =
            (uint32_t)sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- rows ---- */

static int64_t number(const struct run *run, struct sqlite3_value **values,
                      enum scanned_column column)
{
    int place = run->place[column];

    return place == LEFT_OUT ? columns[column].otherwise : sqlite3_value_int64(values[place]);
}

static int64_t known_number(const struct run *run, struct sqlite3_value **values,
                            enum scanned_column column)
{
    int place = run->place[column];

    if (place == LEFT_OUT)
        return columns[column].otherwise;
    return sqlite3_value_type(values[place]) == SQLITE_NULL ? ROW_FEED_UNKNOWN
                                                            : sqlite3_value_int64(values[place]);
}

static bool hand_on(struct run *run)
{
    size_t n = run->n_waiting;

    run->n_waiting = 0;
    return run->take(run->context, run->waiting, n);
}

static uint32_t known_group(const struct run *run, struct sqlite3_value **values,
                            enum scanned_column column)
{
    int64_t group = known_number(run, values, column);

    return group == ROW_FEED_UNKNOWN ? ROOT_GROUP : (uint32_t)group;
}

static uint32_t known_thread(const struct row_feed *scan, int64_t thread)
{
    return thread > 0 && (uint64_t)thread < scan->n_threads ? (uint32_t)thread : 0;
}

static void complete(const struct run *run, struct sqlite3_value **values, struct scanned_row *row)
{
    int64_t other = known_number(run, values, OTHER_THREAD_ID);

    row->allocation_id = number(run, values, ALLOCATION_ID);
    row->thread = known_thread(run->scan, number(run, values, OWN_THREAD_ID));
    row->group = known_group(run, values, GROUP_ID);
    if (!row_feed_is_ended_by_call(row))
        return;
    row->free_thread = other == ROW_FEED_UNKNOWN ? row->thread : known_thread(run->scan, other);
    row->free_group = known_group(run, values, FREE_GROUP_ID);
}

static void weigh(const struct run *run, bool is_above, struct scanned_row *row)
{
    uint64_t mean_bytes = row->size_bytes < 0 ? 0 : run->scan->mean_of[row->process];
    uint64_t bytes = (uint64_t)row->size_bytes;
    const struct sample_weight weight = mean_bytes
                                            ? sample_weight_noted(mean_bytes, bytes, is_above)
                                            : sample_weight_of(0, bytes, 0);

    row->blocks = (int64_t)weight.blocks;
    row->bytes = (int64_t)weight.bytes;
    row->blocks_variance = weight.blocks_variance;
    row->bytes_variance = weight.bytes_variance;
    if (run->scan->mean_of[row->process]) /* allocations between were not all seen */
        row->intervening = ROW_FEED_UNKNOWN;
}

static void on_row(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    struct run *run = sqlite3_user_data(context);
    size_t thread = (size_t)number(run, values, THREAD_ID);
    size_t backtrace = (size_t)number(run, values, BACKTRACE_ID);

    (void)n_values;
    if (backtrace >= run->scan->n_backtraces)
        return; /* a damaged file; such a stack has no names either */
    run->waiting[run->n_waiting++] = (struct scanned_row){
        .process = run->scan->process_of[thread < run->scan->n_threads ? thread : 0],
        .backtrace = (uint32_t)backtrace,
        .size_bytes = number(run, values, SIZE_BYTES),
        .slack_bytes = number(run, values, SLACK_BYTES),
        .alloc_ns = number(run, values, ALLOC_NS),
        .lifetime_ns = known_number(run, values, LIFETIME_NS),
        .ended_by = number(run, values, ENDED_BY),
        .intervening = known_number(run, values, INTERVENING),
        .free_backtrace = known_number(run, values, FREE_BACKTRACE_ID),
    };
    weigh(run, number(run, values, IS_ABOVE) == 1, &run->waiting[run->n_waiting - 1]);
    if (run->place[ALLOCATION_ID] != LEFT_OUT)
        complete(run, values, &run->waiting[run->n_waiting - 1]);
    if (run->n_waiting == N_WAITING && !hand_on(run))
        sqlite3_result_error_nomem(context);
}

static void on_end(struct sqlite3_context *context)
{
    if (!hand_on(sqlite3_user_data(context)))
        sqlite3_result_error_nomem(context);
}

static int set_function(const struct rundb *database, struct run *run, int n_values,
                        struct error *err)
{
    int code = sqlite3_create_function(database->handle, TAKE_ROW, n_values,
                                       SQLITE_UTF8 | SQLITE_DIRECTONLY, run, NULL,
                                       run ? on_row : NULL, run ? on_end : NULL);

    return code == SQLITE_OK ? 0 : rundb_error(database, "preparing to read", err);
}

static bool has_samples(const struct row_feed *scan)
{
    for (size_t i = 0; i < scan->n_processes; i++) {
        if (scan->mean_of[i])
            return true;
    }
    return false;
}

/* Only the thread gives the process of a row: with a single process it is not read. */
static void choose(struct run *run, bool has_thread, bool is_whole)
{
    for (int i = 0; i < N_WHOLE; i++) {
        bool is_left_out = (columns[i].part & run->scan->without) || (i == THREAD_ID && !has_thread)
                           || (i == IS_ABOVE && !has_samples(run->scan))
                           || (i >= N_SCANNED && !is_whole);

        run->place[i] = is_left_out ? LEFT_OUT : run->n_values++;
    }
}

static void format_columns(const struct run *run, char *ret_text)
{
    size_t used = 0;

    for (int i = 0; i < N_WHOLE; i++) {
        if (run->place[i] != LEFT_OUT)
            used += (size_t)snprintf(ret_text + used, COLUMNS_BYTES - used, "%s%s",
                                     used ? ", " : "", columns[i].name);
    }
}

static int run_statement(const struct run *run, const struct filter_sql *filter, bool is_whole,
                         struct error *err)
{
    const struct rundb *database = run->scan->database;
    char names[COLUMNS_BYTES];
    char call[COLUMNS_BYTES + sizeof(TAKE_ROW) + 2];
    struct sqlite3_stmt *stmt = NULL;
    char *sql;
    int rc;

    format_columns(run, names);
    (void)snprintf(call, sizeof(call), TAKE_ROW "(%s)", names);
    sql = filter_sql_rows(filter, call, is_whole ? FILTER_NEEDS_CHARGE : 0u, "");
    rc = sql ? rundb_prepare(database, sql, &stmt, err) : error_set(err, ERROR_NOMEM, "no memory");
    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    filter_sql_bind(filter, stmt);
    rc = rundb_step(database, stmt, err);
    sqlite3_finalize(stmt);
    return rc < 0 || rc > 1 ? rc : 0;
}

static int scan_rows(const struct row_feed *scan, const struct filter_sql *filter, bool is_whole,
                     struct run *run, struct error *err)
{
    int rc;

    choose(run, !filter->is_of_one_process || filter->is_restricted, is_whole);
    rc = set_function(scan->database, run, run->n_values, err);
    if (rc != 0)
        return rc;
    rc = run_statement(run, filter, is_whole, err);
    (void)set_function(scan->database, NULL, run->n_values, NULL);
    return rc;
}

int row_feed_run(const struct row_feed *scan, const struct filter_sql *filter, row_feed_take *take,
                 void *context, struct error *err)
{
    return scan_rows(scan, filter, false,
                     &(struct run){.scan = scan, .take = take, .context = context}, err);
}

int row_feed_run_whole(const struct row_feed *scan, const struct filter_sql *filter,
                       row_feed_take *take, void *context, struct error *err)
{
    return scan_rows(scan, filter, true,
                     &(struct run){.scan = scan, .take = take, .context = context}, err);
}

char *row_feed_sql(const struct filter_sql *filter, unsigned without)
{
    const struct row_feed scan = {.without = without};
    struct run run = {.scan = &scan};
    char names[COLUMNS_BYTES];

    choose(&run, true, false);
    format_columns(&run, names);
    return filter_sql_rows(filter, names, 0, "");
}
