/* SPDX-License-Identifier: MIT */
/* stack ID: one stack, innermost frame first, inlined positions included. */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/query.h"
#include "queries/reports/reports.h"

static int check_known(const struct query *query, int64_t backtrace_id, struct error *err)
{
    int64_t n = 0;
    char *sql = sqlite3_mprintf("SELECT count(*) FROM backtraces WHERE backtrace_id = %lld",
                                (long long)backtrace_id);
    int rc = sql ? rundb_get_int64(&query->database, sql, &n, err) : ERROR_NOMEM;

    sqlite3_free(sql);
    if (rc == 0 && n == 0)
        return error_set(err, ERROR_NOT_FOUND,
                         "'%s' has no stack %lld; mtrace-query groups lists them",
                         query->options->database_path, (long long)backtrace_id);
    return rc;
}

int cmd_stack_run(struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt;
    uint64_t backtrace_id = 0;
    int rc = units_parse_count(query->options->arguments[0], &backtrace_id, err);

    if (rc != 0)
        return error_set(err, ERROR_USAGE,
                         "'%s' is not a stack's id; mtrace-query groups lists them",
                         query->options->arguments[0]);
    rc = check_known(query, (int64_t)backtrace_id, err);
    if (rc == 0)
        rc = rundb_prepare(
            &query->database,
            "SELECT frame, inline_level, function, source, line, module, object_offset "
            "FROM stack_frames WHERE backtrace_id = :stack ORDER BY frame, inline_level",
            &stmt, err);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, (int64_t)backtrace_id);
    if (!query_show_sql(query, stmt))
        rc = render_statement(&query->database, stmt, &query->style, -1, query->out, NULL, err);
    sqlite3_finalize(stmt);
    return rc;
}
