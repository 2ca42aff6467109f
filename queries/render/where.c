/* SPDX-License-Identifier: MIT */
#include "queries/render/where.h"

#include "queries/render/shorten.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

void where_format(struct sqlite3_stmt *row, const struct where_columns *columns, char *ret_text,
                  size_t size)
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
