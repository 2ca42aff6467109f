/* SPDX-License-Identifier: MIT */
#include "queries/db/rundb.h"

#include "lib/base/error.h"
#include "lib/logfile/left_out.h"
#include "lib/sqlite/database_file.h"
#include "lib/sqlite/database_guard.h"
#include "lib/sqlite/database_views.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int rundb_error(const struct rundb *database, const char *doing, struct error *err)
{
    if (database->left_out)
        return error_set(err, ERROR_LEFT_OUT_ROWS, "'%s' has totals only, and no %s",
                         database->path, database->left_out);
    return database_guard_error(&database->guard, database->handle, database->path, doing, err);
}

static int check_file(const char *path, struct error *err)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    if (S_ISDIR(status.st_mode))
        return error_set(err, ERROR_FORMAT,
                         "'%s' is a directory; name a database that mtrace-import made", path);
    if (status.st_size == 0)
        return error_set(err, ERROR_FORMAT, "'%s' is empty; mtrace-import makes databases", path);
    return 0;
}

static int open_handle(struct rundb *database, const char *path, int flags, struct error *err)
{
    database->path = path;
    /* One thread uses the connection: locks are not needed. */
    if (sqlite3_open_v2(path, &database->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        int rc = database_file_check_name(path, path, err);

        if (rc == 0)
            rc = rundb_error(database, "opening", err);
        rundb_close(database);
        return rc;
    }
    sqlite3_extended_result_codes(database->handle, 0);
    sqlite3_busy_timeout(database->handle, 2000);
    /* Temporary data beyond the cache goes to a file. No mmap: another process could truncate the
     * file, and pages in the cache are checked only once. */
    return rundb_run(database, "PRAGMA temp_store = FILE; PRAGMA cache_size = -16384", err);
}

/* Refuses statements that read tables of rows that were not imported. SQLite does not report the
 * schema of a table of which no column is read. */
static bool is_left_out(struct rundb *database, const char *table, const char *schema)
{
    bool is_of_file = !schema || strcmp(schema, "main") == 0;
    const char *rows = is_of_file && database->refuses_rows ? left_out_find(table) : NULL;

    if (rows)
        database->left_out = rows;
    return rows != NULL;
}

/* One loads arbitrary code, the other reveals an address of this process. */
static bool is_forbidden_function(const char *name)
{
    return name
           && (sqlite3_stricmp(name, "load_extension") == 0
               || sqlite3_stricmp(name, "fts3_tokenizer") == 0);
}

/* Allows reading, functions and PRAGMA functions that describe tables. sqlite3_set_authorizer calls
 * it at prepare. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *schema, const char *trigger)
{
    struct rundb *database = context;

    (void)trigger;
    switch (action) {
    case SQLITE_READ:
        if (database->is_hidden && schema && strcmp(schema, "main") == 0
            && database->is_hidden(first))
            return SQLITE_DENY;
        if (is_left_out(database, first, schema))
            return SQLITE_DENY;
        database->reads_rows |= first && left_out_find(first); /* also through a view */
        return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_forbidden_function(second) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        return first
                       && (strncmp(first, "table_", 6) == 0 || strncmp(first, "index_", 6) == 0
                           || (strncmp(first, "page_", 5) == 0 && !second))
                   ? SQLITE_OK
                   : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

/* `authorize` checks statements of users. The cast is safe: no struct rundb is declared const, and
 * the callback writes to it. */
static void guard_statements(const struct rundb *database, bool are_others)
{
    sqlite3_set_authorizer(database->handle, are_others ? authorize : NULL,
                           (void *)(uintptr_t)database);
}

static int look_at_extent(struct rundb *database, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database,
                           "SELECT max(value) FILTER (WHERE key = 'slim'),"
                           " max(value) FILTER (WHERE key = 'early'),"
                           " max(value) FILTER (WHERE key = 'aggregate'),"
                           " (SELECT max(sample_bytes) FROM processes) FROM meta",
                           &stmt, err);

    if (rc != 0)
        return rc;
    rc = rundb_step(database, stmt, err);
    database->is_slim = sqlite3_column_int64(stmt, 0) != 0;
    database->is_early = database->is_slim && sqlite3_column_int64(stmt, 1) != 0;
    database->is_aggregate = database->is_slim && sqlite3_column_int64(stmt, 2) != 0;
    database->sample_bytes = sqlite3_column_int64(stmt, 3);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

int rundb_open(struct rundb *database, const char *path, const struct database_stop *stop,
               struct error *err)
{
    int rc;

    *database = (struct rundb){.guard.stop = stop};
    rc = check_file(path, err);
    if (rc != 0)
        return rc;
    rc = open_handle(database, path, SQLITE_OPEN_READONLY, err);
    if (rc == 0)
        rc = database_guard_put(&database->guard, database->handle, path, false, err);
    if (rc == 0)
        rc = look_at_extent(database, err);
    if (rc != 0)
        rundb_close(database);
    return rc;
}

void rundb_refuse_rows(struct rundb *database)
{
    database->refuses_rows = database->is_slim && !database->is_aggregate;
}

int rundb_open_memory(struct rundb *database, struct error *err)
{
    *database = (struct rundb){0};
    return open_handle(database, ":memory:", SQLITE_OPEN_READWRITE, err);
}

void rundb_close(struct rundb *database)
{
    sqlite3_close(database->handle);
    database->handle = NULL;
    if (database->views)
        database_views_done(database->views);
    free(database->views);
    database->views = NULL;
}

int rundb_offer_views(struct rundb *database, struct error *err)
{
    database->views = malloc(sizeof(*database->views));
    if (!database->views)
        return error_set(err, ERROR_NOMEM, "no memory for views");
    return database_views_find(database->views, err);
}

/* Our own statements load the views, so the lock is lifted: it is for statements of users. sql
 * NULL: all views. */
static int load_needed(const struct rundb *database, const char *sql, struct error *err)
{
    int code;
    int rc = 0;

    if (!database->views || !database_views_need(database->views, sql))
        return 0;
    if (database->is_locked) {
        guard_statements(database, false);
        (void)sqlite3_exec(database->handle, "PRAGMA query_only = 0", NULL, NULL, NULL);
    }
    code = database_views_load(database->views, database->handle);
    if (code == SQLITE_NOMEM)
        rc = error_set(err, ERROR_NOMEM, "no memory for a view");
    else if (code != SQLITE_OK)
        rc = rundb_error(database, "reading", err);
    if (database->is_locked) {
        (void)sqlite3_exec(database->handle, "PRAGMA query_only = 1", NULL, NULL, NULL);
        guard_statements(database, true);
    }
    /* A computed table may need what a slim import leaves out. */
    return rc != 0 && database->left_out ? rundb_error(database, "reading", err) : rc;
}

int rundb_load_all_views(const struct rundb *database, struct error *err)
{
    return load_needed(database, NULL, err);
}

/* Most are tables, as in the file, so that SQLite joins them the same way. They are filled once,
 * when a statement names them after the lock. Those read while filters are installed are views,
 * which follow the current tables. They are materialized: in a join SQLite would evaluate the view
 * for each row. */
int rundb_compute(struct rundb *database, unsigned tables, struct error *err)
{
    static const struct {
        unsigned bit;
        const char *made; /* a table */
        const char *view;
    } all[] = {
        {RUNDB_SITE_TOTALS, "site_totals AS SELECT * FROM _site_totals", NULL},
        {RUNDB_SITE_LEAKS, "site_leak_times AS SELECT * FROM _site_leak_times", NULL},
        {RUNDB_SITE_LEAKS | RUNDB_SITE_GROWTH, "site_shapes AS SELECT * FROM _site_shapes", NULL},
        {RUNDB_SITE_LEAKS, "site_leaks AS SELECT * FROM _site_leaks", NULL},
        {RUNDB_SITE_FREES, "site_frees AS SELECT * FROM _site_frees", NULL},
        {RUNDB_SITE_GROWTH, "site_growth AS SELECT * FROM _site_growth", NULL},
        {RUNDB_SUPPRESSED_STACKS, NULL, "suppressed_stacks"},
        {RUNDB_SNAPSHOT_SITES, NULL, "snapshot_sites"},
    };

    int rc = 0;

    database->made |= tables;
    for (size_t i = 0; rc == 0 && i < sizeof(all) / sizeof(all[0]); i++) {
        char sql[192];

        if (!(tables & all[i].bit))
            continue;
        if (all[i].made) {
            rc = database_views_add_table(database->views, all[i].made, err);
            continue;
        }
        sqlite3_snprintf(sizeof(sql), sql,
                         "CREATE TEMP VIEW IF NOT EXISTS %s AS WITH made AS MATERIALIZED"
                         " (SELECT * FROM _%s) SELECT * FROM made",
                         all[i].view, all[i].view);
        rc = rundb_run(database, sql, err);
    }
    return rc;
}

#define NO_CURVES                                                                                                 \
    "(curve, process_id, call_site_id, rule_id, part, step, at_ns, stays, site_stays, change, total, site_total)" \
    " AS SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 WHERE 0"

/* Empties the curves that are not needed: computing their patterns takes as long as for the
 * others. */
static void leave_out_curves(const struct rundb *database)
{
    if (!(database->made & RUNDB_SITE_GROWTH))
        database_views_replace(database->views, "_growth_curves" NO_CURVES);
    if (!(database->made & RUNDB_SITE_LEAKS))
        database_views_replace(database->views, "_leak_curves" NO_CURVES);
}

int rundb_lock(struct rundb *database, struct error *err)
{
    /* A table-valued function is connected at its first use, which the lock would refuse as
     * creating a table. */
    int rc = rundb_run(database,
                       "SELECT count(*) FROM json_each('[]'), pragma_table_info('meta');"
                       "PRAGMA query_only = 1",
                       err);

    if (rc != 0)
        return rc;
    sqlite3_limit(database->handle, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(database->handle, SQLITE_LIMIT_ATTACHED, 0);
    database->is_locked = true;
    guard_statements(database, true);
    if (database->views) {
        leave_out_curves(database);
        database_views_settle(database->views);
    }
    return 0;
}

int rundb_run(struct rundb *database, const char *sql, struct error *err)
{
    int rc = load_needed(database, sql, err);

    if (rc == 0 && sqlite3_exec(database->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return rundb_error(database, "reading", err);
    return rc;
}

int rundb_prepare(const struct rundb *database, const char *sql, struct sqlite3_stmt **ret_stmt,
                  struct error *err)
{
    const char *tail = NULL;
    int rc = load_needed(database, sql, err);

    *ret_stmt = NULL;
    if (rc != 0)
        return rc;
    if (sqlite3_prepare_v2(database->handle, sql, -1, ret_stmt, &tail) != SQLITE_OK) {
        if (database->left_out)
            return rundb_error(database, "reading", err);
        if (sqlite3_errcode(database->handle) == SQLITE_AUTH)
            return error_set(err, ERROR_USAGE, "only reading is allowed: one SELECT%s",
                             database->is_hidden
                                 ? "; with --confidential no table of 'main' that has paths"
                                 : "");
        if (sqlite3_errcode(database->handle) == SQLITE_ERROR)
            return error_set(err, ERROR_USAGE, "cannot run the statement: %s",
                             sqlite3_errmsg(database->handle));
        return rundb_error(database, "reading", err);
    }
    tail += strspn(tail, " \t\r\n;");
    if (!*ret_stmt || *tail) {
        sqlite3_finalize(*ret_stmt);
        *ret_stmt = NULL;
        return error_set(err, ERROR_USAGE, "one SELECT is expected, found %s",
                         *tail ? "more" : "none");
    }
    return 0;
}

int rundb_insert(const struct rundb *database, struct sqlite3_stmt *insert, const int64_t *values,
                 size_t n_values, struct error *err)
{
    int rc;

    for (size_t i = 0; i < n_values; i++)
        sqlite3_bind_int64(insert, (int)i + 1, values[i]);
    rc = rundb_step(database, insert, err);
    sqlite3_reset(insert);
    return rc;
}

int rundb_go_on(const struct rundb *database, struct error *err)
{
    if (!database || !database_stop_is_due(database->guard.stop))
        return 0;
    return database_guard_stopped(&database->guard, database->path, "reading", err);
}

int rundb_step(const struct rundb *database, struct sqlite3_stmt *stmt, struct error *err)
{
    if (database->guard.stop && database->guard.stop->is_wanted)
        return database_guard_stopped(&database->guard, database->path, "reading", err);
    switch (sqlite3_step(stmt)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return rundb_error(database, "reading", err);
    }
}

void rundb_show_sql(struct sqlite3_stmt *stmt, FILE *out)
{
    char *sql = sqlite3_expanded_sql(stmt);

    (void)fprintf(out, "%s;\n", sql ? sql : sqlite3_sql(stmt));
    sqlite3_free(sql);
}

int rundb_get_int64(const struct rundb *database, const char *sql, int64_t *ret_value,
                    struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = load_needed(database, sql, err);

    if (rc != 0)
        return rc;
    /* Not database_prepare: an error here is in the file, not in the user's SQL. */
    if (sqlite3_prepare_v2(database->handle, sql, -1, &stmt, NULL) != SQLITE_OK)
        return rundb_error(database, "reading", err);
    rc = rundb_step(database, stmt, err);
    if (rc >= 0)
        *ret_value = rc == 1 ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}
