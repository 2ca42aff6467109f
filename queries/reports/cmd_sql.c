/* SPDX-License-Identifier: MIT */
/* sql STATEMENT: a SELECT of the user's own, with the same renderers; nothing can be changed
 * (database.h). */
#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/reports/reports.h"

#include <sqlite3.h>
#include <string.h>

/* Refuses parameters: unbound they would be NULL and give a wrong answer. */
static int check_parameters(struct sqlite3_stmt *stmt, struct error *err)
{
    const char *name = sqlite3_bind_parameter_name(stmt, sqlite3_bind_parameter_count(stmt));

    if (sqlite3_bind_parameter_count(stmt) == 0)
        return 0;
    return error_set(err, ERROR_USAGE,
                     "the statement has the parameter '%s', which has no value here; write the "
                     "value into the statement",
                     name ? name : "?");
}

enum {
    VALUE_BYTES = 256 * 1024, /* of a statement with a time limit */
    PATTERN_BYTES = 1000,
    STATEMENT_BYTES = 64 * 1024,
    INSTRUCTIONS = 11000 /* SQLite doubles this array, up to 10,752; our largest report has 2,000 */
};

/* SQLite looks for a stop only where a statement loops: limits the cost of one row. Functions may
 * still take seconds (trim with a large set), so mtrace-serve runs statements of clients in a
 * limited process (statement.h). */
static int bound_values(const struct query *query, struct error *err)
{
    struct sqlite3 *db = query->database.handle;

    if (!query->stop || query->stop->until_ns == 0)
        return 0;
    if (strlen(query->options->arguments[0]) > STATEMENT_BYTES)
        return error_set(err, ERROR_USAGE, "the statement has more than %d bytes", STATEMENT_BYTES);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES);
    (void)sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, INSTRUCTIONS);
    return 0;
}

static int fail_long(const struct query *query, struct error *err)
{
    return error_set(err, ERROR_USAGE, "the statement makes a value of more than %d bytes",
                     sqlite3_limit(query->database.handle, SQLITE_LIMIT_LENGTH, -1));
}

/* An error in the statement is the user's, not one of the database. */
static int explain_failure(const struct query *query, int rc, struct error *err)
{
    struct sqlite3 *db = query->database.handle;

    if (rc != ERROR_DATABASE)
        return rc;
    switch (sqlite3_errcode(db)) {
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
        return error_set(err, ERROR_USAGE, "cannot run the statement: %s", sqlite3_errmsg(db));
    case SQLITE_TOOBIG:
        return fail_long(query, err);
    default:
        return rc;
    }
}

/* VACUUM does not call the authorizer. */
static int check_reading(struct sqlite3_stmt *stmt, struct error *err)
{
    if (sqlite3_stmt_readonly(stmt))
        return 0;
    return error_set(err, ERROR_USAGE, "only reading is allowed: one SELECT");
}

int cmd_sql_run(struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int64_t max_rows = query->options->count > 0 ? query->options->count : -1;
    int64_t n_rows = 0;
    int rc;

    rc = rundb_load_all_views(&query->database, err);
    if (rc == 0)
        rc = bound_values(query, err);
    query->database.reads_rows = false; /* of this statement alone */
    rundb_refuse_rows(&query->database);
    if (rc == 0)
        rc = rundb_prepare(&query->database, query->options->arguments[0], &stmt, err);
    if (rc == 0)
        rc = check_reading(stmt, err);
    if (rc == 0)
        rc = check_parameters(stmt, err);
    if (rc != 0) {
        sqlite3_finalize(stmt);
        return rc;
    }
    database_guard_lift_steps(&query->database.guard);
    for (int64_t i = 0; rc == 0 && i < query->options->skip; i++) {
        int step = rundb_step(&query->database, stmt, err);
        if (step == 0)
            max_rows = 0; /* stepping a finished statement would restart it */
        if (step != 1) {
            rc = step;
            break;
        }
    }
    query->style.has_sql_names = true;
    if (rc == 0)
        rc = render_statement(&query->database, stmt, &query->style, max_rows, query->out, &n_rows,
                              err);
    if (rc < 0)
        rc = explain_failure(query, rc, err);
    sqlite3_finalize(stmt);
    return rc;
}
