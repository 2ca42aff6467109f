/* SPDX-License-Identifier: MIT */
#include "queries/core/report.h"

#include "lib/base/error.h"
#include "queries/core/blame_hint.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/core/report_sql.h"
#include "queries/filter/filter_sql.h"

#include <inttypes.h>
#include <string.h>

/* Prints below a table how many rows are left, and the next command. */
static void print_footer(const struct query *query, struct sqlite3_stmt *stmt, int64_t n_rows)
{
    const struct command *command = query->options->command;

    if (query->style.format != RENDER_TABLE)
        return;
    if (n_rows == 0 && !query->options->fail_if)
        query_note(query, "no rows");
    if (query_max_rows(query) >= 0 && n_rows == query_max_rows(query)
        && sqlite3_step(stmt) == SQLITE_ROW)
        (void)fprintf(query->out, "more rows: -n 0\n");
    if (n_rows > 0 && command->next)
        query_advise_command(query, command->next, command->next_tail);
}

/* The rows are call sites, in the order of the view. */
static bool has_blamed_rows(const struct query *query)
{
    static const char *const names[] = {"peak", "temporary", "hot", "growth"};
    bool is_one = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_one = is_one || strcmp(query->options->command->name, names[i]) == 0;
    return is_one && query->style.format == RENDER_TABLE && !query->options->sort_by
           && !query->options->fail_if;
}

/* made_rows: the JSON that the source reads by json_each(:made_rows); NULL: it reads the
 * database. */
static int show(struct query *query, const char *source, const char *made_rows,
                const struct filter_sql *filter, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int64_t n_rows = 0;
    int rc = report_sql_prepare(query, source, query->options->command->name, NULL, &stmt, err);

    if (rc != 0)
        return rc;
    if (filter)
        filter_sql_bind(filter, stmt);
    if (made_rows)
        sqlite3_bind_text(stmt, sqlite3_bind_parameter_index(stmt, ":made_rows"), made_rows, -1,
                          SQLITE_STATIC);
    if (!query_show_sql(query, stmt)) {
        rc = render_statement(&query->database, stmt, &query->style, query_max_rows(query),
                              query->out, &n_rows, err);
        if (rc == 0)
            print_footer(query, stmt, n_rows);
        if (rc == 0 && n_rows > 0 && has_blamed_rows(query))
            rc = blame_hint_print(query, query->options->command->view, query->options->process_id,
                                  err);
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && query->options->fail_if && n_rows > 0)
        query->has_failed = true;
    return rc;
}

int report_show(struct query *query, const char *source, struct error *err)
{
    return show(query, source, NULL, NULL, err);
}

int report_show_filtered(struct query *query, const char *source, const struct filter_sql *filter,
                         struct error *err)
{
    return show(query, source, NULL, filter, err);
}

int report_show_made(struct query *query, const char *source, const char *made_rows,
                     struct error *err)
{
    return show(query, source, made_rows, NULL, err);
}

int report_run(struct query *query, struct error *err)
{
    const struct command *command = query->options->command;

    return report_show(query, command->source ? command->source : command->view, err);
}
