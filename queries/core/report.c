/* SPDX-License-Identifier: MIT */
#include "queries/core/report.h"

#include "lib/base/error.h"
#include "lib/base/shell_quote.h"
#include "queries/core/blame_hint.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/core/report_sql.h"
#include "queries/filter/filter_sql.h"
#include "queries/render/column.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TAIL_BYTES = 2048,
    CELL_BYTES = 1024
};

/* Searches the rows for the first one that the next command can be about. */
struct next_row {
    const char *tail; /* with {column} */
    char filled[TAIL_BYTES];
    bool is_found;
};

static int find_column(struct sqlite3_stmt *row, const char *name, size_t length)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        const char *found = sqlite3_column_name(row, i);

        if (strlen(found) == length && memcmp(found, name, length) == 0)
            return i;
    }
    return -1;
}

/* The next command would show no rows for a row without blocks. */
static bool has_blocks(struct sqlite3_stmt *row)
{
    static const char *const columns[] = {"allocated_blocks", "allocation_id"};

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        int column = find_column(row, columns[i], strlen(columns[i]));

        if (column >= 0 && sqlite3_column_int64(row, column) == 0)
            return false;
    }
    return true;
}

/* Replaces each {column} by the value in this row; false: the row has none. */
static bool fill_tail(const char *tail, struct sqlite3_stmt *row, char *ret_text)
{
    char text[CELL_BYTES];
    char word[2] = "";

    ret_text[0] = '\0';
    for (; *tail; tail++) {
        size_t length = *tail == '{' ? strcspn(tail + 1, "}") : 0;
        int column = length ? find_column(row, tail + 1, length) : -1;
        size_t used = strlen(ret_text);

        word[0] = *tail;
        if (length == 0) {
            (void)snprintf(ret_text + used, TAIL_BYTES - used, "%s", word);
            continue;
        }
        if (column < 0 || sqlite3_column_type(row, column) == SQLITE_NULL)
            return false;
        column_format(row, column, column_unit_of(sqlite3_column_name(row, column)), true, text,
                      sizeof(text));
        shell_quote(text, ret_text, TAIL_BYTES);
        tail += length + 1;
    }
    return true;
}

static void see_row(void *context, struct sqlite3_stmt *row)
{
    struct next_row *next = context;

    if (!next->is_found && has_blocks(row))
        next->is_found = fill_tail(next->tail, row, next->filled);
}

int report_print(struct query *query, struct sqlite3_stmt *stmt, const char *next,
                 const char *next_tail, int64_t *ret_n_rows, struct error *err)
{
    const struct command *command = query->options->command;
    struct next_row row = {.tail = next ? next_tail : command->next ? command->next_tail : ""};
    struct render_style style = query->style;
    int64_t max_rows = query_max_rows(query);
    int rc;

    style.see_row = see_row;
    style.see_context = &row;
    rc = render_statement(&query->database, stmt, &style, max_rows, query->out, ret_n_rows, err);
    if (rc != 0 || style.format != RENDER_TABLE)
        return rc;
    query->is_empty = *ret_n_rows == 0;
    if (query->is_empty && !query->options->fail_if)
        query_note(query, "no rows%s%s", command->without_rows ? ": " : "",
                   command->without_rows ? command->without_rows : "");
    if (max_rows >= 0 && *ret_n_rows == max_rows && sqlite3_step(stmt) == SQLITE_ROW)
        (void)fprintf(query->out, "more rows: -n 0\n");
    if (command->below && *ret_n_rows > 0 && !query->options->fail_if)
        rc = command->below(query, err);
    if (rc == 0 && row.is_found && (next || command->next))
        query_advise_command(query, next ? next : command->next, row.filled);
    return rc;
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
        rc = report_print(query, stmt, NULL, NULL, &n_rows, err);
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
