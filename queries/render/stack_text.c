/* SPDX-License-Identifier: MIT */
#include "queries/render/stack_text.h"

#include "queries/render/shorten.h"
#include "queries/render/table.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum {
    PLACE_BYTES = 1024
};

void stack_text_format_place(struct sqlite3_stmt *row, const struct where_columns *columns,
                             char *ret_text, size_t size)
{
    const char *function = (const char *)sqlite3_column_text(row, columns->function);
    const char *source = (const char *)sqlite3_column_text(row, columns->source);
    const char *module = (const char *)sqlite3_column_text(row, columns->module);
    const char *gap;
    size_t used;

    shorten_function(function ? function : "", ret_text, size);
    used = strlen(ret_text);
    gap = used ? "  " : "";
    if (source && sqlite3_column_type(row, columns->line) != SQLITE_NULL)
        (void)snprintf(ret_text + used, size - used, "%s%s:%d", gap, shorten_path(source),
                       sqlite3_column_int(row, columns->line));
    else if (source || module)
        (void)snprintf(ret_text + used, size - used, "%s%s", gap,
                       shorten_path(source ? source : module));
    else if (!used)
        (void)snprintf(ret_text, size, "-");
}

void stack_text_add_place(struct table *table, struct sqlite3_stmt *row,
                          const struct where_columns *columns, const char *more)
{
    const char *source = (const char *)sqlite3_column_text(row, columns->source);
    const char *module = (const char *)sqlite3_column_text(row, columns->module);
    char text[PLACE_BYTES];
    size_t used;

    stack_text_format_place(row, columns, text, sizeof(text));
    used = strlen(text);
    (void)snprintf(text + used, sizeof(text) - used, "%s", more);
    table_add_cell(table, text);
    if (source || module)
        table_name_file(table, source ? source : module);
}

enum {
    POSITION_BYTES = 2048
};

static const char separator[] = " < ";

/* Where " file:line" begins; NULL: there is none. */
static char *find_source(char *position)
{
    char *colon = strrchr(position, ':');
    char *blank;

    if (!colon || colon[1] == '\0' || colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return NULL;
    *colon = '\0';
    blank = strrchr(position, ' ');
    *colon = ':';
    return blank;
}

/* Takes the next position from *text; false after the last one. */
static bool next_position(const char **text, bool is_wide, char *ret_line, size_t size)
{
    const char *end = *text ? strstr(*text, separator) : NULL;
    char position[POSITION_BYTES];
    char *source;
    size_t used;

    if (!*text || **text == '\0')
        return false;
    (void)snprintf(position, sizeof(position), "%.*s",
                   end ? (int)(end - *text) : (int)strlen(*text), *text);
    *text = end ? end + strlen(separator) : *text + strlen(*text);
    source = is_wide ? NULL : find_source(position);
    if (source)
        *source++ = '\0';
    if (is_wide)
        (void)snprintf(ret_line, size, "%s", position);
    else
        shorten_function(position, ret_line, size);
    used = strlen(ret_line);
    if (source)
        (void)snprintf(ret_line + used, size - used, "  %s", shorten_path(source));
    return true;
}

static size_t count_positions(const char *text)
{
    size_t n = *text ? 1 : 0;

    while ((text = strstr(text, separator))) {
        n++;
        text += strlen(separator);
    }
    return n;
}

void stack_text_add_heaviest(struct table *table, int64_t stack_id, const char *weight,
                             int64_t n_stacks)
{
    char line[POSITION_BYTES];

    (void)snprintf(line, sizeof(line), "    stack %" PRId64 ": %s, the heaviest of %" PRId64,
                   stack_id, weight, n_stacks);
    table_add_line(table, line);
}

void stack_text_add(struct table *table, const char *text, bool is_wide)
{
    static const char indent[] = "    ";
    char line[POSITION_BYTES + sizeof(indent)];
    size_t n = 0;

    memcpy(line, indent, sizeof(indent));
    while ((is_wide || n < STACK_TEXT_MAX_LINES)
           && next_position(&text, is_wide, line + strlen(indent), POSITION_BYTES)) {
        table_add_line(table, line);
        n++;
    }
    if (text && *text) {
        (void)snprintf(line, sizeof(line), "%sand %zu more: --wide, or the command stack", indent,
                       count_positions(text));
        table_add_line(table, line);
    }
}
