/* SPDX-License-Identifier: MIT */
#include "queries/core/query.h"

#include "lib/base/utf8.h"
#include "queries/core/command.h"

#include <stdarg.h>
#include <string.h>

enum {
    NOTE_BYTES = 1024
};

const struct command *command_find(const struct command *table, const char *name)
{
    for (const struct command *command = table; command && command->name; command++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

int64_t query_max_rows(const struct query *query)
{
    if (query->options->count > 0)
        return query->options->count;
    if (query->options->count == 0 || query->style.format != RENDER_TABLE)
        return -1;
    return QUERY_TABLE_ROWS;
}

bool query_is_screen(const struct query *query)
{
    const struct query_options *options = query->options;

    return options->command->has_headline && query->style.format == RENDER_TABLE
           && !options->fail_if && !options->is_sql_shown
           && (strcmp(options->command->name, "leaks") != 0
               || !(options->sort_by || options->is_wide));
}

bool query_is_picture(const char *output_name)
{
    size_t length = output_name ? strlen(output_name) : 0;

    return length > 4 && strcmp(output_name + length - 4, ".svg") == 0;
}

void query_note(const struct query *query, const char *format, ...)
{
    char text[NOTE_BYTES];
    va_list arguments;

    if (!query->note)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    utf8_clean(text);
    query->note(query->note_context, text);
}

enum {
    ADVICE_BYTES = 8192
};

void query_advise(const struct query *query, const char *format, ...)
{
    char text[ADVICE_BYTES];
    va_list arguments;

    if (query->options->is_untrusted)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    utf8_clean(text);
    (void)fprintf(query->out, "next: mtrace-query %s\n", text);
}

static bool is_answered(const struct query *query, const char *name, const char *tail)
{
    const struct command *command = command_find(query->commands, name);
    const struct filter_parameter *filter =
        strncmp(tail, "--", 2) == 0 ? filter_find(tail + 2, strcspn(tail + 2, " ")) : NULL;

    if (!command || (query->database.sample_bytes && command->why_unsampled)
        || (query->database.is_aggregate && command->is_kept_unbounded))
        return false;
    return !query->database.is_slim || query->database.is_aggregate
           || !(command->needs_rows || (filter && filter->scope == FILTER_SCOPE_ROW));
}

void query_advise_command(const struct query *query, const char *name, const char *tail)
{
    if (is_answered(query, name, tail))
        query_advise(query, "%s %s%s%s", name, query->shell_path, *tail ? " " : "", tail);
}

bool query_show_sql(const struct query *query, struct sqlite3_stmt *stmt)
{
    if (query->options->is_sql_shown)
        rundb_show_sql(stmt, query->out);
    return query->options->is_sql_shown;
}
