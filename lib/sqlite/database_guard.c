/* SPDX-License-Identifier: MIT */
#include "lib/sqlite/database_guard.h"

#include "lib/base/error.h"
#include "lib/base/monotonic.h"
#include "lib/sqlite/database_file.h"
#include "lib/sqlite/embedded_sql.h"

#include <string.h>

enum {
    ROW_BYTES = 4, /* minimum size of a table row, with its entry in the page */
    LENGTH_BYTES = 64 << 20,
    MEMORY_BYTES = 512 << 20,
    MEMORY_PER_BYTE = 32,
    STEPS_PER_CALL = 1 << 11, /* each may make a value of 256 KiB; all take less than a second */
    STEPS_PER_BYTE = 1000,    /* commands need up to 10 */
};

#define STEPS INT64_C(1000000000) /* some seconds */

int database_guard_stopped(const struct database_guard *guard, const char *path, const char *doing,
                           struct error *err)
{
    if (guard && guard->stop && !guard->stop->is_wanted)
        return error_set(err, ERROR_INTERRUPTED,
                         "%s '%s' took longer than the time limit allows; narrow the query", doing,
                         path);
    return error_set(err, ERROR_INTERRUPTED, "interrupted while %s '%s'", doing, path);
}

int database_guard_error(const struct database_guard *guard, struct sqlite3 *db, const char *path,
                         const char *doing, struct error *err)
{
    switch (sqlite3_errcode(db)) {
    case SQLITE_INTERRUPT:
        if (guard && guard->is_exhausted)
            return error_set(err, ERROR_FORMAT,
                             "'%s' is damaged: the answer would take for ever; import the "
                             "recording again",
                             path);
        return database_guard_stopped(guard, path, doing, err);
    case SQLITE_NOTADB:
        return error_set(err, ERROR_FORMAT,
                         "'%s' is not an mtrace database; mtrace-import makes one", path);
    case SQLITE_CORRUPT:
        return error_set(err, ERROR_FORMAT, "'%s' is damaged; import the recording again", path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ERROR_DATABASE,
                         "'%s' is being written; try again when that has ended", path);
    case SQLITE_NOMEM:
        return error_set(err, ERROR_NOMEM, "no memory left while %s '%s'", doing, path);
    default:
        return error_set(err, ERROR_DATABASE, "%s '%s': %s", doing, path, sqlite3_errmsg(db));
    }
}

static int failure(struct sqlite3 *db, const char *path, struct error *err)
{
    return database_guard_error(NULL, db, path, "reading", err);
}

static int run(struct sqlite3 *db, const char *path, const char *sql, struct error *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failure(db, path, err);
}

static int get_number(struct sqlite3 *db, const char *path, const char *sql, int64_t *ret,
                      struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = 0;

    *ret = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return failure(db, path, err);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    else
        rc = failure(db, path, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int get_file_bytes(struct sqlite3 *db, const char *path, int64_t *ret, struct error *err)
{
    int64_t n_pages;
    int64_t page_bytes;
    int rc = get_number(db, path, "PRAGMA main.page_count", &n_pages, err);

    if (rc == 0)
        rc = get_number(db, path, "PRAGMA main.page_size", &page_bytes, err);
    if (rc == 0)
        *ret = n_pages * page_bytes; /* 32 bits by 17 */
    return rc;
}

/* ---- settings ---- */

static int configure(struct sqlite3 *db, const char *path, struct error *err)
{
    static const struct {
        int setting, value;
    } settings[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, /* TEMP views still work */
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        if (sqlite3_db_config(db, settings[i].setting, settings[i].value, NULL) != SQLITE_OK)
            return failure(db, path, err);
    }
    return run(db, path, "PRAGMA cell_size_check = 1; PRAGMA recursive_triggers = 0", err);
}

bool database_stop_is_due(const struct database_stop *stop)
{
    int64_t until_ns = stop ? stop->until_ns : 0;

    if (!stop || stop->is_wanted || until_ns == 0)
        return stop && stop->is_wanted;
    return (int64_t)monotonic_now_ns() >= until_ns;
}

static int count_steps(void *context)
{
    struct database_guard *guard = context;

    guard->steps_left -= STEPS_PER_CALL;
    guard->is_exhausted = guard->steps_left < 0;
    return guard->is_exhausted || database_stop_is_due(guard->stop);
}

void database_guard_lift_steps(struct database_guard *guard)
{
    guard->steps_left = INT64_MAX;
}

/* Texts of a file are in it; ours grow with it. */
static void limit(struct database_guard *guard, struct sqlite3 *db, int64_t file_bytes)
{
    int64_t length = LENGTH_BYTES + 2 * file_bytes;
    int64_t memory = MEMORY_BYTES + MEMORY_PER_BYTE * file_bytes;

    if (length < sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1))
        (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, (int)length);
    /* The limit holds for all connections of the program: that of the largest file counts. */
    if (memory > sqlite3_hard_heap_limit64(-1))
        (void)sqlite3_hard_heap_limit64(memory);
    guard->steps_left = STEPS + STEPS_PER_BYTE * file_bytes;
    sqlite3_progress_handler(db, STEPS_PER_CALL, count_steps, guard);
}

/* ---- a sum of 128 bits ---- */

/* SQLite aligns the state of an aggregate function to 8 bytes. */
__extension__ typedef __int128 wide __attribute__((aligned(8)));

struct sum {
    wide integers;
    double reals;
    int64_t n_integers, n_reals;
};

static void sum_change(struct sqlite3_context *context, struct sqlite3_value *value, int sign)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));
    int type = sqlite3_value_numeric_type(value);

    if (!sum || type == SQLITE_NULL)
        return;
    if (type == SQLITE_INTEGER) {
        sum->integers += sign * (wide)sqlite3_value_int64(value);
        sum->n_integers += sign;
    } else {
        sum->reals += sign * sqlite3_value_double(value);
        sum->n_reals += sign;
    }
}

static void sum_add(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    (void)n_values;
    sum_change(context, values[0], 1);
}

static void sum_take(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    (void)n_values;
    sum_change(context, values[0], -1);
}

static void sum_value(struct sqlite3_context *context)
{
    const struct sum *sum = sqlite3_aggregate_context(context, 0);

    if (!sum || sum->n_integers + sum->n_reals == 0)
        sqlite3_result_null(context);
    else if (sum->n_reals)
        sqlite3_result_double(context, sum->reals + (double)sum->integers);
    else
        sqlite3_result_int64(context, sum->integers > INT64_MAX   ? INT64_MAX
                                      : sum->integers < INT64_MIN ? INT64_MIN
                                                                  : (int64_t)sum->integers);
}

int database_guard_add_sum(struct sqlite3 *db, struct error *err)
{
    int rc = sqlite3_create_window_function(db, "sum", 1,
                                            SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                            NULL, sum_add, sum_value, sum_value, sum_take, NULL);

    return rc == SQLITE_OK ? 0 : error_set(err, ERROR_NOMEM, "no memory for a function");
}

/* ---- definitions ---- */

/* SQLite stores the text of a definition as it was executed. `known` ends at its semicolon. */
static bool is_same_definition(const char *known, const char *found)
{
    size_t length = strlen(found);

    return strncmp(known, found, length) == 0 && known[length] == ';';
}

static const char create_table[] = "\nCREATE TABLE ";

/* The next table definition after `at`, beginning with its name; NULL after the last. */
static const char *next_table(const struct embedded_sql **part, const char *at)
{
    while ((*part)->name) {
        const char *found = strstr(at ? at : (*part)->text, create_table);

        if (found)
            return found + strlen(create_table);
        (*part)++;
        at = NULL;
    }
    return NULL;
}

static size_t name_length(const char *definition)
{
    return strspn(definition, "abcdefghijklmnopqrstuvwxyz_");
}

static int check_table(struct sqlite3_stmt *stmt, const char *path, const char *known,
                       struct error *err)
{
    static const char create[] = "CREATE TABLE ";
    int length = (int)name_length(known);
    const char *sql = NULL;

    sqlite3_reset(stmt);
    sqlite3_bind_text(stmt, 1, known, length, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        sql = (const char *)sqlite3_column_text(stmt, 0);
    else if (sqlite3_errcode(sqlite3_db_handle(stmt)) != SQLITE_DONE)
        return failure(sqlite3_db_handle(stmt), path, err);
    if (sql && strncmp(sql, create, strlen(create)) == 0
        && is_same_definition(known, sql + strlen(create)))
        return 0;
    return error_set(err, ERROR_VERSION,
                     "'%s' was made by another version of mtrace, or changed: its table %.*s %s; "
                     "import the recording again",
                     path, length, known, sql ? "differs" : "is missing");
}

static int check_tables(struct sqlite3 *db, const char *path, struct error *err)
{
    const struct embedded_sql *part = embedded_schema;
    struct sqlite3_stmt *stmt;
    int rc = 0;

    if (sqlite3_prepare_v2(db,
                           "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?1",
                           -1, &stmt, NULL)
        != SQLITE_OK)
        return failure(db, path, err);
    for (const char *known = next_table(&part, NULL); rc == 0 && known;
         known = next_table(&part, known))
        rc = check_table(stmt, path, known, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* Writing rows would run expressions of the indexes. */
static int check_indexes(struct sqlite3 *db, const char *path, struct error *err)
{
    int64_t n = 0;
    int rc = get_number(
        db, path, "SELECT count(*) FROM main.sqlite_schema WHERE type = 'index' AND sql <> ''", &n,
        err);

    if (rc == 0 && n > 0)
        return error_set(err, ERROR_FORMAT,
                         "'%s' has an index that mtrace did not make; drop it, or import the "
                         "recording again",
                         path);
    return rc;
}

static int check_identity(struct sqlite3 *db, const char *path, struct error *err)
{
    int64_t id;
    int64_t version = 0;
    int rc = get_number(db, path, "PRAGMA main.application_id", &id, err);

    if (rc == 0)
        rc = get_number(db, path, "PRAGMA main.user_version", &version, err);
    if (rc != 0)
        return rc;
    if (id != DATABASE_FILE_APPLICATION_ID)
        return error_set(err, ERROR_FORMAT,
                         "'%s' is a database of another program; mtrace-import makes ours", path);
    if (version > DATABASE_GUARD_VERSION)
        return error_set(err, ERROR_VERSION,
                         "'%s' has schema %lld, this mtrace reads %d; use a newer mtrace", path,
                         (long long)version, DATABASE_GUARD_VERSION);
    return 0;
}

int database_guard_put(struct database_guard *guard, struct sqlite3 *db, const char *path,
                       bool is_writing, struct error *err)
{
    int64_t file_bytes = 0;
    int rc;

    *guard = (struct database_guard){.stop = guard->stop};
    rc = configure(db, path, err);
    if (rc == 0)
        rc = check_identity(db, path, err);
    if (rc == 0)
        rc = run(db, path, is_writing ? "BEGIN IMMEDIATE" : "BEGIN", err);
    if (rc == 0)
        rc = get_file_bytes(db, path, &file_bytes, err);
    if (rc != 0)
        return rc;
    limit(guard, db, file_bytes);
    rc = check_tables(db, path, err);
    if (rc == 0 && is_writing)
        rc = check_indexes(db, path, err);
    if (rc != 0 && sqlite3_errcode(db) == SQLITE_INTERRUPT)
        return database_guard_error(guard, db, path, "reading", err);
    return rc == 0 ? database_guard_add_sum(db, err) : rc;
}

/* ---- ids ---- */

int database_ids(struct sqlite3 *db, const char *table, const char *id, size_t *ret_n_ids,
                 struct error *err)
{
    const char *file = sqlite3_db_filename(db, "main");
    const char *path = file ? file : "";
    int64_t file_bytes = 0;
    int64_t highest = 0;
    char sql[128];
    int rc = get_file_bytes(db, path, &file_bytes, err);

    sqlite3_snprintf(sizeof(sql), sql, "SELECT max(%s) FROM %s", id, table);
    if (rc == 0)
        rc = get_number(db, path, sql, &highest, err);
    if (rc != 0)
        return rc;
    if (highest > file_bytes / ROW_BYTES)
        return error_set(err, ERROR_FORMAT,
                         "'%s' is damaged: it has no room for %s %lld of its table %s; import the "
                         "recording again",
                         path, id, (long long)highest, table);
    *ret_n_ids = highest > 0 ? (size_t)highest + 1 : 1;
    return 0;
}
