/* SPDX-License-Identifier: MIT */
#include "queries/core/blame_hint.h"

#include "lib/base/error.h"
#include "queries/core/command.h"
#include "queries/core/query.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum {
    N_ROWS = 5, /* of the table that are examined */
    MANY_CALLERS = 8,
    REGEX_BYTES = 512
};

/* Of each stack of the call site, the function that calls the one blamed. Positions in code without
 * a name are functions of their own. */
static const char callers_sql[] =
    "WITH RECURSIVE site AS (SELECT function_id FROM call_sites WHERE call_site_id = :site),"
    " up(id) AS (SELECT backtrace_id FROM backtraces WHERE call_site_id = :site UNION"
    "  SELECT b.parent_backtrace_id FROM up JOIN backtraces AS b ON b.backtrace_id = up.id"
    "  WHERE NOT EXISTS (SELECT 1 FROM frame_lines AS l JOIN site USING (function_id)"
    "   WHERE l.frame_id = b.frame_id))"
    " SELECT f.name, (SELECT count(DISTINCT ifnull(c.function_id, -p.frame_id)) FROM up"
    "  JOIN backtraces AS b ON b.backtrace_id = up.id"
    "  JOIN backtraces AS p ON p.backtrace_id = b.parent_backtrace_id"
    "  JOIN frame_lines AS c ON c.frame_id = p.frame_id AND c.inline_level = 0"
    "  WHERE EXISTS (SELECT 1 FROM frame_lines AS l JOIN site USING (function_id)"
    "   WHERE l.frame_id = b.frame_id))"
    " FROM site JOIN functions AS f USING (function_id)";

/* Functions that are no good culprits. */
struct offer {
    char regex[REGEX_BYTES]; /* for their names: "a|b", to be quoted by ' */
    char first[REGEX_BYTES]; /* the name of the first, and what calls it */
    size_t n;
};

/* Appends a name to the regex, unless it is too long, or cannot be quoted. */
static bool append_name(const char *name, char *regex, size_t size)
{
    size_t before = strlen(regex);
    size_t used = before;

    if (before > 0 && used + 1 < size)
        regex[used++] = '|';
    for (; *name && *name != '\'' && used + 3 < size; name++) {
        if (strchr(".[]{}()*+?^$|\\", *name))
            regex[used++] = '\\';
        regex[used++] = *name;
    }
    regex[*name ? before : used] = '\0';
    return *name == '\0';
}

static int examine(const struct query *query, int64_t call_site_id, struct offer *offer,
                   struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&query->database, callers_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":site"), call_site_id);
    rc = rundb_step(&query->database, stmt, err);
    if (rc == 1 && sqlite3_column_int64(stmt, 1) >= MANY_CALLERS
        && append_name(rundb_text(stmt, 0), offer->regex, sizeof(offer->regex)) && offer->n++ == 0)
        (void)snprintf(offer->first, sizeof(offer->first), "%" PRId64 " functions call %s",
                       (int64_t)sqlite3_column_int64(stmt, 1), rundb_text(stmt, 0));
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

int blame_hint_print(const struct query *query, const char *view, int64_t process_id,
                     struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    struct offer offer = {.n = 0};
    char *sql;
    int rc;

    if (query->options->blame_past || query->options->site_id || query->options->is_untrusted)
        return 0;
    sql = sqlite3_mprintf("SELECT call_site_id FROM %s WHERE ?1 IN (0, process_id) LIMIT %d", view,
                          N_ROWS);
    rc = sql ? rundb_prepare(&query->database, sql, &stmt, err)
             : error_set(err, ERROR_NOMEM, "no memory for a statement");
    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    while (rc == 0 && (rc = rundb_step(&query->database, stmt, err)) == 1)
        rc = examine(query, sqlite3_column_int64(stmt, 0), &offer, err);
    sqlite3_finalize(stmt);
    if (rc == 0 && offer.n > 0)
        query_advise(query, "%s %s --blame-past '^%s%s%s$'    # %s%s",
                     query->options->command->name, query->shell_path, offer.n > 1 ? "(" : "",
                     offer.regex, offer.n > 1 ? ")" : "", offer.first,
                     offer.n > 1 ? ", many call the others" : "");
    return rc;
}
