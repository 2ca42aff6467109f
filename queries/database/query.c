/* SPDX-License-Identifier: MIT */
#include "queries/database/query.h"

int64_t query_max_rows(const struct query *query)
{
    if (query->options->count > 0)
        return query->options->count;
    if (query->options->count == 0 || query->style.format != RENDER_TABLE)
        return -1;
    return QUERY_TABLE_ROWS;
}

bool query_show_sql(const struct query *query, struct sqlite3_stmt *stmt)
{
    char *sql;

    if (!query->options->is_sql_shown)
        return false;
    sql = sqlite3_expanded_sql(stmt);
    (void)fprintf(query->out, "%s;\n", sql ? sql : sqlite3_sql(stmt));
    sqlite3_free(sql);
    return true;
}
