/* SPDX-License-Identifier: MIT */
#include "queries/core/report_stacks.h"

#include "queries/core/command.h"
#include "queries/core/query.h"

#include <sqlite3.h>
#include <string.h>

static const char leaks_source[] =
    "(SELECT process_id, call_site_id, backtrace_id, leaked_bytes AS weight FROM _leaked_stacks"
    " WHERE rule_id IS NULL)";

static const char totals_source[] =
    "(SELECT t.process_id, b.call_site_id, t.backtrace_id, t.%s AS weight FROM backtrace_totals AS t"
    " JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id)";

/* The stack of a row's call site. The table is read once: SQLite makes an index for it. */
static const char heaviest_id[] =
    "(SELECT h.backtrace_id FROM heaviest AS h WHERE h.process_id = %s.process_id"
    " AND h.site = ifnull(%s.call_site_id, 0))";

void report_stacks_append_with(const struct query *query, bool has_own, struct sqlite3_str *sql)
{
    const char *weight = query->options->command->stacks_by;

    if (!query->options->has_stacks || has_own)
        return;
    sqlite3_str_appendall(sql, "WITH heaviest AS MATERIALIZED (SELECT process_id,"
                               " ifnull(call_site_id, 0) AS site, backtrace_id, max(weight) FROM ");
    if (strcmp(weight, "leaked_bytes") == 0)
        sqlite3_str_appendall(sql, leaks_source);
    else
        sqlite3_str_appendf(sql, totals_source, weight);
    sqlite3_str_appendall(sql, " GROUP BY 1, 2) ");
}

void report_stacks_append_columns(const struct query *query, bool has_own, const char *row,
                                  struct sqlite3_str *sql)
{
    if (!query->options->has_stacks)
        return;
    if (!has_own) {
        sqlite3_str_appendall(sql, ", ");
        sqlite3_str_appendf(sql, heaviest_id, row, row);
        sqlite3_str_appendall(sql, " AS backtrace_id");
    }
    sqlite3_str_appendall(sql, ", (SELECT x.stack FROM stack_texts AS x WHERE x.backtrace_id = ");
    if (has_own)
        sqlite3_str_appendf(sql, "%s.backtrace_id", row);
    else
        sqlite3_str_appendf(sql, heaviest_id, row, row);
    sqlite3_str_appendall(sql, ") AS stack");
}
