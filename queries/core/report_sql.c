/* SPDX-License-Identifier: MIT */
#include "queries/core/report_sql.h"

#include "lib/base/error.h"
#include "queries/core/command.h"
#include "queries/core/query.h"
#include "queries/render/column.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* ---- stacks ---- */

static const char leaks_source[] =
    "(SELECT process_id, call_site_id, backtrace_id, leaked_bytes AS weight FROM _leaked_stacks"
    " WHERE rule_id IS NULL)";

static const char totals_source[] =
    "(SELECT t.process_id, b.call_site_id, t.backtrace_id, t.%s AS weight FROM backtrace_totals AS t"
    " JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id)";

/* The stack of a row's call site. The table is read once: SQLite makes an index for it. */
static const char of_heaviest[] =
    "(SELECT h.%s FROM heaviest AS h WHERE h.process_id = %s.process_id"
    " AND h.site = ifnull(%s.call_site_id, 0))";

void report_sql_append_stacks_with(const struct query *query, bool has_own, struct sqlite3_str *sql)
{
    const char *weight = query->options->command->stacks_by;

    if (!query->options->has_stacks || has_own)
        return;
    sqlite3_str_appendall(sql,
                          "WITH heaviest AS MATERIALIZED (SELECT process_id,"
                          " ifnull(call_site_id, 0) AS site, backtrace_id, max(weight) AS weight,"
                          " count(*) FILTER (WHERE weight > 0) AS stacks FROM ");
    if (strcmp(weight, "leaked_bytes") == 0)
        sqlite3_str_appendall(sql, leaks_source);
    else
        sqlite3_str_appendf(sql, totals_source, weight);
    sqlite3_str_appendall(sql, " GROUP BY 1, 2) ");
}

void report_sql_append_stacks_columns(const struct query *query, bool has_own, const char *row,
                                      struct sqlite3_str *sql)
{
    if (!query->options->has_stacks)
        return;
    if (!has_own) {
        sqlite3_str_appendall(sql, ", ");
        sqlite3_str_appendf(sql, of_heaviest, "backtrace_id", row, row);
        sqlite3_str_appendall(sql, " AS backtrace_id");
    }
    sqlite3_str_appendall(sql, ", (SELECT x.stack FROM stack_texts AS x WHERE x.backtrace_id = ");
    if (has_own)
        sqlite3_str_appendf(sql, "%s.backtrace_id", row);
    else
        sqlite3_str_appendf(sql, of_heaviest, "backtrace_id", row, row);
    sqlite3_str_appendall(sql, ") AS stack");
    /* For people, who would take it for the stack of the whole row. What is allocated counts as
     * live for `live`. */
    if (has_own || query->style.format != RENDER_TABLE || query->options->is_sql_shown)
        return;
    sqlite3_str_appendall(sql, ", ");
    sqlite3_str_appendf(sql, of_heaviest, "weight", row, row);
    sqlite3_str_appendf(
        sql, " AS heaviest_%s, ",
        query->options->command->needs_instant ? "bytes" : query->options->command->stacks_by);
    sqlite3_str_appendf(sql, of_heaviest, "stacks", row, row);
    sqlite3_str_appendall(sql, " AS heaviest_of");
}

/* ---- the statement ---- */

enum {
    MESSAGE_BYTES = 512,
    COLUMNS_BYTES = 1024
};

/* The columns of a report, from a statement that is prepared but not run. */
struct report {
    const struct query *query;
    const char *source;
    const char *name;
    struct sqlite3_stmt *columns;
};

static bool has_column(const struct report *report, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(report->columns); i++) {
        if (strcmp(sqlite3_column_name(report->columns, i), name) == 0)
            return true;
    }
    return false;
}

static const char *find_ending(const struct report *report, const char *ending)
{
    for (int i = 0; i < sqlite3_column_count(report->columns); i++) {
        const char *name = sqlite3_column_name(report->columns, i);
        size_t length = strlen(name);
        if (length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0)
            return name;
    }
    return NULL;
}

/* Tables have other headings: such a name means the first matching column. NULL: none matches. */
static const char *column_of_head(const struct report *report, const char *head)
{
    if (has_column(report, head))
        return head;
    if (strcmp(head, "bytes") == 0)
        return find_ending(report, "_bytes");
    if (strcmp(head, "blocks") == 0)
        return find_ending(report, "_blocks");
    if (strcmp(head, "where") == 0)
        return has_column(report, "function") ? "function" : NULL;
    for (int i = 0; i < sqlite3_column_count(report->columns); i++) {
        const char *name = sqlite3_column_name(report->columns, i);
        char heading[COLUMN_HEADING_BYTES];

        if (strcmp(column_heading(name, heading), head) == 0)
            return name;
    }
    return NULL;
}

/* The quote that is open after a character; 0: none. */
static char quote_behind(char quote, char character)
{
    if (quote)
        return character == quote ? '\0' : quote;
    return character == '\'' || character == '"' ? character : '\0';
}

/* Replaces headings by column names, outside of quotes. "end" and "from" are headings, too, but in
 * an expression they are words of SQL. */
static void append_expression(const struct report *report, struct sqlite3_str *sql,
                              const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    char quote = '\0';

    while (*text) {
        size_t length = quote ? 0 : strspn(text, letters);
        char *word = sqlite3_mprintf("%.*s", (int)length, text);
        bool is_sql = length && sqlite3_keyword_check(text, (int)length) != 0;
        const char *column = length && word && (!is_sql || strcmp(word, "where") == 0)
                                 ? column_of_head(report, word)
                                 : NULL;

        if (length == 0) {
            quote = quote_behind(quote, *text);
            length = 1;
        }
        if (column)
            sqlite3_str_appendall(sql, column);
        else
            sqlite3_str_append(sql, text, (int)length);
        sqlite3_free(word);
        text += length;
    }
}

static const char *list_columns(const struct report *report, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < sqlite3_column_count(report->columns) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
                                 sqlite3_column_name(report->columns, i));
    return text;
}

static int check_option(const struct report *report, const char *option, const char *column,
                        struct error *err)
{
    if (has_column(report, column))
        return 0;
    return error_set(err, ERROR_USAGE, "'%s' cannot be restricted by %s: it has no %s",
                     report->name, option, column);
}

static int append_where(const struct report *report, struct sqlite3_str *sql, const char *condition,
                        struct error *err)
{
    const struct query_options *options = report->query->options;
    int rc = 0;

    sqlite3_str_appendf(sql, " WHERE %s", condition ? condition : "1");
    if (options->process_id) {
        rc = check_option(report, "process", "process_id", err);
        sqlite3_str_appendall(sql, " AND process_id = :process");
    }
    if (rc == 0 && options->site_id) {
        rc = check_option(report, "site", "call_site_id", err);
        sqlite3_str_appendall(sql, " AND call_site_id = :site");
    }
    if (options->fail_if) {
        sqlite3_str_appendall(sql, " AND (");
        append_expression(report, sql, options->fail_if);
        sqlite3_str_appendall(sql, "\n)");
    }
    return rc;
}

/* A text that parses both bare and in parentheses is one expression: it can neither end the
 * surrounding condition nor comment out the rest. */
static int check_expression(const struct report *report, struct error *err)
{
    static const char *const frames[][2] = {{"SELECT ", "\n FROM "}, {"SELECT (", "\n) FROM "}};
    const struct query_options *options = report->query->options;
    int rc = 0;

    for (size_t i = 0; rc == 0 && options->fail_if && i < sizeof(frames) / sizeof(frames[0]); i++) {
        struct sqlite3_str *sql = sqlite3_str_new(report->query->database.handle);
        struct sqlite3_stmt *stmt = NULL;
        char message[MESSAGE_BYTES];
        char *text;

        sqlite3_str_appendall(sql, frames[i][0]);
        append_expression(report, sql, options->fail_if);
        sqlite3_str_appendf(sql, "%s%s", frames[i][1], report->source);
        text = sqlite3_str_finish(sql);
        rc = text ? rundb_prepare(&report->query->database, text, &stmt, err)
                  : error_set(err, ERROR_NOMEM, "no memory for a statement");
        if (rc == ERROR_USAGE)
            rc = error_set(err, ERROR_USAGE, "fail_if '%s': %s; columns: %s", options->fail_if,
                           sqlite3_errcode(report->query->database.handle) == SQLITE_OK
                               ? "one expression is expected"
                               : sqlite3_errmsg(report->query->database.handle),
                           list_columns(report, message, sizeof(message)));
        sqlite3_finalize(stmt);
        sqlite3_free(text);
    }
    return rc;
}

static int append_order(const struct report *report, struct sqlite3_str *sql, struct error *err)
{
    static const char *const ids[] = {"process_id", "backtrace_id", "call_site_id", "function_id",
                                      "object_id",  "heap_id",      "thread_id",    "from_bytes",
                                      "from_ns",    "at_ns"};
    const struct query_options *options = report->query->options;
    char message[MESSAGE_BYTES];
    const char *column;
    bool is_dsc;

    if (!options->sort_by)
        return 0;
    column = column_of_head(report, options->sort_by);
    if (!column)
        return error_set(err, ERROR_USAGE, "'%s' is not a sort key of %s; allowed: %s",
                         options->sort_by, report->name,
                         list_columns(report, message, sizeof(message)));
    is_dsc = options->order == ORDER_DEFAULT ? column_is_largest_first(column)
                                             : options->order == ORDER_DSC;
    sqlite3_str_appendf(sql, " ORDER BY \"%w\" %s", column, is_dsc ? "DESC" : "ASC");
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (has_column(report, ids[i]))
            sqlite3_str_appendf(sql, ", %s", ids[i]);
    }
    return 0;
}

static void bind(const struct query_options *options, struct sqlite3_stmt *stmt, int64_t max_rows)
{
    const struct {
        const char *name;
        int64_t value;
    } values[] = {
        {":process", options->process_id},
        {":site", options->site_id},
        {":count", max_rows < 0 ? -1 : max_rows + 1},
        {":skip", options->skip},
    };

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        int index = sqlite3_bind_parameter_index(stmt, values[i].name);
        if (index)
            sqlite3_bind_int64(stmt, index, values[i].value);
    }
}

static const struct command *command_of(const struct report *report)
{
    const struct query *query = report->query;

    if (*report->source == '(')
        return query->options->command;
    for (const struct command *command = query->commands; command->name; command++) {
        if (command->columns && command->view && strcmp(command->view, report->source) == 0)
            return command;
    }
    return NULL;
}

/* Omits the rare column if no row has it. */
static int leave_rare_out(const struct report *report, const struct command *command, char *columns,
                          struct error *err)
{
    const char *rare = command->rare_column;
    char *at = rare ? strstr(columns, rare) : NULL;
    int64_t has_rare = 1;
    char *sql;
    int rc;

    if (!at)
        return 0;
    sql = sqlite3_mprintf("SELECT EXISTS (SELECT 1 FROM %s WHERE %s <> 0)", report->source, rare);
    rc = sql ? rundb_get_int64(&report->query->database, sql, &has_rare, err)
             : error_set(err, ERROR_NOMEM, "no memory for a statement");
    sqlite3_free(sql);
    if (rc == 0 && !has_rare) {
        char *from = at >= columns + 2 ? at - 2 : at; /* ", " */

        memmove(from, at + strlen(rare), strlen(at + strlen(rare)) + 1);
    }
    return rc;
}

static void append_column(const struct report *report, const char *name, struct sqlite3_str *sql)
{
    char margin[MESSAGE_BYTES];

    (void)snprintf(margin, sizeof(margin), "%s_margin", name);
    sqlite3_str_appendf(sql, "%s%s", sqlite3_str_length(sql) ? ", " : "", name);
    if (has_column(report, margin))
        sqlite3_str_appendf(sql, ", CAST(%s + 0.5 AS INTEGER) AS \"± %s\"", margin,
                            strstr(name, "bytes") ? "bytes" : "blocks");
}

/* Adds the margin of each estimate beside it. */
static int put_margins_in(const struct report *report, char *columns, struct error *err)
{
    struct sqlite3_str *sql;
    char *rest = columns;
    char *text;

    if (!report->query->database.sample_bytes)
        return 0;
    sql = sqlite3_str_new(report->query->database.handle);
    for (char *name = strtok_r(columns, ", ", &rest); name; name = strtok_r(NULL, ", ", &rest))
        append_column(report, name, sql);
    text = sqlite3_str_finish(sql);
    if (!text)
        return error_set(err, ERROR_NOMEM, "no memory for a statement");
    (void)snprintf(columns, COLUMNS_BYTES, "%s", text);
    sqlite3_free(text);
    return 0;
}

static int shown_columns(const struct report *report, char *ret_columns, struct error *err)
{
    const struct query *query = report->query;
    const struct command *command = command_of(report);
    bool is_all = query->style.format != RENDER_TABLE || query->options->is_wide
                  || query->options->is_sql_shown || !command || !command->columns;

    (void)snprintf(ret_columns, COLUMNS_BYTES, "%s", is_all ? "*" : command->columns);
    if (is_all)
        return 0;
    int rc = leave_rare_out(report, command, ret_columns, err);
    return rc == 0 ? put_margins_in(report, ret_columns, err) : rc;
}

static int prepare(const struct report *report, const char *condition,
                   struct sqlite3_stmt **ret_stmt, struct error *err)
{
    const struct query_options *options = report->query->options;
    struct sqlite3_str *sql = sqlite3_str_new(report->query->database.handle);
    bool has_own_stack = has_column(report, "backtrace_id");
    char columns[COLUMNS_BYTES];
    int rc = shown_columns(report, columns, err);
    char *text;

    report_sql_append_stacks_with(report->query, has_own_stack, sql);
    sqlite3_str_appendf(sql, "SELECT %s", columns);
    report_sql_append_stacks_columns(report->query, has_own_stack, "r", sql);
    sqlite3_str_appendf(sql, " FROM %s%s", report->source, options->has_stacks ? " AS r" : "");
    if (rc == 0)
        rc = append_where(report, sql, condition, err);
    if (rc == 0)
        rc = append_order(report, sql, err);
    sqlite3_str_appendall(sql, " LIMIT :count OFFSET :skip");
    text = sqlite3_str_finish(sql);
    if (rc == 0 && !text)
        rc = error_set(err, ERROR_NOMEM, "no memory for a statement");
    if (rc == 0)
        rc = rundb_prepare(&report->query->database, text, ret_stmt, err);
    sqlite3_free(text);
    if (rc == 0)
        bind(options, *ret_stmt, query_max_rows(report->query));
    return rc;
}

int report_sql_prepare(const struct query *query, const char *source, const char *name,
                       const char *condition, struct sqlite3_stmt **ret_stmt, struct error *err)
{
    struct report report = {query, source, name, NULL};
    char *sql = sqlite3_mprintf("SELECT * FROM %s", source);
    int rc;

    *ret_stmt = NULL;
    if (!sql)
        return error_set(err, ERROR_NOMEM, "no memory for a statement");
    rc = rundb_prepare(&query->database, sql, &report.columns, err);
    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    rc = check_expression(&report, err);
    if (rc == 0)
        rc = prepare(&report, condition, ret_stmt, err);
    sqlite3_finalize(report.columns);
    return rc;
}
