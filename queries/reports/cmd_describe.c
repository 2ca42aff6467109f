/* SPDX-License-Identifier: MIT */
/*
 * views and describe NAME: the SQL interface, from the comments of the schema and the views.
 * Neither needs a recording: they use an empty database in memory.
 */
#include "lib/base/error.h"
#include "lib/sqlite/embedded_sql.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/db/sql_docs.h"
#include "queries/render/suggestion.h"
#include "queries/render/table.h"
#include "queries/reports/reports.h"

enum {
    DOC_BYTES = 4096
};

static int make_empty(struct query *query, struct error *err)
{
    int rc = rundb_open_memory(&query->database, err);

    for (const struct embedded_sql *part = embedded_schema; rc == 0 && part->name; part++)
        rc = rundb_run(&query->database, part->text, err);
    for (const struct embedded_sql *view = embedded_views; rc == 0 && view->name; view++)
        rc = rundb_run(&query->database, view->text, err);
    return rc;
}

/* SQL functions return the comments, so the answer uses the normal renderers. */
static void summary_function(struct sqlite3_context *context, int n_values,
                             struct sqlite3_value **values)
{
    const char *name = (const char *)sqlite3_value_text(values[0]);
    char text[DOC_BYTES] = "";
    struct sql_object object;

    (void)n_values;
    if (name && sql_docs_find(name, &object))
        sql_docs_summary(&object, text, sizeof(text));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void column_function(struct sqlite3_context *context, int n_values,
                            struct sqlite3_value **values)
{
    const char *name = (const char *)sqlite3_value_text(values[0]);
    const char *column = (const char *)sqlite3_value_text(values[1]);
    char text[DOC_BYTES] = "";
    struct sql_object object;

    (void)n_values;
    if (name && column && sql_docs_find(name, &object))
        sql_docs_column(&object, column, text, sizeof(text));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static int answer(struct query *query, const char *sql, const char *name, struct error *err)
{
    struct sqlite3 *handle = query->database.handle;
    struct sqlite3_stmt *stmt;
    int rc;

    sqlite3_create_function(handle, "comment_of", 1, SQLITE_UTF8, NULL, summary_function, NULL,
                            NULL);
    sqlite3_create_function(handle, "column_comment", 2, SQLITE_UTF8, NULL, column_function, NULL,
                            NULL);
    rc = rundb_prepare(&query->database, sql, &stmt, err);
    if (rc != 0)
        return rc;
    if (name)
        sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    rc = render_statement(&query->database, stmt, &query->style, -1, query->out, NULL, err);
    sqlite3_finalize(stmt);
    return rc;
}

int cmd_views_run(struct query *query, struct error *err)
{
    int rc = make_empty(query, err);

    if (rc != 0)
        return rc;
    return answer(
        query,
        "SELECT name, type AS kind, comment_of(name) AS row_is FROM sqlite_schema "
        "WHERE type IN ('table', 'view') AND name NOT GLOB '_*_rows' AND name NOT GLOB '[_]*' "
        "AND name NOT GLOB '*[_]rows' AND name NOT GLOB 'sqlite[_]*' "
        "ORDER BY type DESC, name",
        NULL, err);
}

/* A user may pass the name of a command: by-module for by_module. */
static const char *name_of(const struct query *query, const char *name)
{
    const struct command *command = command_find(query->commands, name);
    struct sql_object object;

    return command && command->view && !sql_docs_find(name, &object) ? command->view : name;
}

static int fail_unknown(const char *name, struct error *err)
{
    struct suggestion suggestion = {.word = name};

    for (const struct embedded_sql *view = embedded_views; view->name; view++) {
        if (*view->name != '_')
            suggestion_consider(&suggestion, view->name);
    }
    if (suggestion_best(&suggestion))
        return error_set(err, ERROR_USAGE, "unknown view or table '%s'; did you mean %s?", name,
                         suggestion_best(&suggestion));
    return error_set(err, ERROR_USAGE, "unknown view or table '%s'; mtrace-query views lists them",
                     name);
}

int cmd_describe_run(struct query *query, struct error *err)
{
    const char *name = name_of(query, query->options->arguments[0]);
    struct sql_object object;
    char text[DOC_BYTES];
    int rc;

    if (!sql_docs_find(name, &object))
        return fail_unknown(name, err);
    if (query->style.format == RENDER_TABLE) {
        sql_docs_summary(&object, text, sizeof(text));
        (void)fprintf(query->out, "%s: %s\n", name, text);
        sql_docs_details(&object, text, sizeof(text));
        (void)fprintf(query->out, "%s\n", text);
    }
    rc = make_empty(query, err);
    if (rc != 0)
        return rc;
    return answer(
        query,
        "SELECT name AS \"column\", column_comment(:name, name) AS meaning FROM pragma_table_xinfo(:name)",
        name, err);
}
