/* SPDX-License-Identifier: MIT */
#include "queries/headline.h"

#include "queries/query.h"
#include "queries/shorten.h"
#include "support/error.h"
#include "support/units.h"

#include <string.h>

int headline_each_process(struct query *query,
                          int (*what)(struct query *, int64_t process_id, struct error *),
                          struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        &query->database,
        "SELECT process_id FROM processes WHERE :process IN (0, process_id) ORDER BY process_id",
        &stmt, err);
    int step = 0;
    int64_t n = 0;

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, query->options->process_id);
    while (rc == 0 && (step = rundb_step(&query->database, stmt, err)) == 1) {
        rc = what(query, sqlite3_column_int64(stmt, 0), err);
        n++;
    }
    sqlite3_finalize(stmt);
    if (step < 0)
        return step;
    if (rc == 0 && n == 0)
        return error_set(err, ERROR_NOT_FOUND, "'%s' has no process %lld; processes lists them",
                         query->options->database_path, (long long)query->options->process_id);
    return rc;
}

static void format_end(const char *kind, int value, char *text, size_t size)
{
    static const char live[] = "\"leaked\" means live at that instant";
    const char *signal_name = sigabbrev_np(value);

    if (!kind || strcmp(kind, "unknown") == 0)
        (void)snprintf(text, size, "the log ends without a word: %s", live);
    else if (strcmp(kind, "exit") == 0)
        (void)snprintf(text, size, "exited with status %d", value);
    else if (strcmp(kind, "signal") == 0 && signal_name)
        (void)snprintf(text, size, "killed by SIG%s: %s", signal_name, live);
    else if (strcmp(kind, "signal") == 0)
        (void)snprintf(text, size, "killed by signal %d: %s", value, live);
    else if (strcmp(kind, "exec") == 0)
        (void)snprintf(text, size, "replaced by exec: what was live then is not a leak");
    else
        (void)snprintf(text, size, "still running: %s", live);
}

int headline_format(const struct query *query, int64_t process_id, char *ret_text, size_t size,
                    struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc =
        rundb_prepare(&query->database,
                      "SELECT executable, pid, duration_ns, end_kind, end_value FROM processes "
                      "WHERE process_id = :process",
                      &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    rc = rundb_step(&query->database, stmt, err);
    ret_text[0] = '\0';
    if (rc == 1) {
        const char *executable = (const char *)sqlite3_column_text(stmt, 0);
        char duration[UNITS_TEXT_BYTES];
        char end[128];

        format_end((const char *)sqlite3_column_text(stmt, 3), sqlite3_column_int(stmt, 4), end,
                   sizeof(end));
        (void)snprintf(ret_text, size, "%s (pid %d), %s, %s",
                       executable ? shorten_path(executable) : "?", sqlite3_column_int(stmt, 1),
                       units_format_duration(sqlite3_column_int64(stmt, 2), duration), end);
    }
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}
