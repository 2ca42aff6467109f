/* SPDX-License-Identifier: MIT */
#include "queries/render/caller_line.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"
#include "queries/render/stack_text.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char line_sql[] =
    "WITH RECURSIVE up(id, n) AS ("
    "  SELECT * FROM (SELECT s.backtrace_id, 0 FROM backtraces AS s"
    "   JOIN processes AS p LEFT JOIN backtrace_totals AS t ON t.process_id = p.process_id"
    "   AND t.backtrace_id = s.backtrace_id WHERE s.call_site_id = ?1"
    "   ORDER BY t.leaked_bytes DESC, t.peak_bytes DESC, t.allocated_bytes DESC, s.backtrace_id"
    "   LIMIT 1) UNION ALL"
    "  SELECT b.parent_backtrace_id, n + 1 FROM up JOIN backtraces AS b ON b.backtrace_id = up.id"
    "  WHERE b.parent_backtrace_id < up.id)"
    " SELECT f.name, s.path, l.line, NULL FROM up"
    " JOIN backtraces AS b ON b.backtrace_id = up.id"
    " JOIN frames AS c ON c.frame_id = b.frame_id"
    " JOIN frame_lines AS l ON l.frame_id = c.frame_id"
    " JOIN sources AS s ON s.source_id = l.source_id"
    " LEFT JOIN functions AS f ON f.function_id = l.function_id"
    " WHERE l.line IS NOT NULL AND NOT EXISTS (SELECT 1 FROM skipped_code AS k WHERE k.target = 'object'"
    "  AND k.id = c.object_id OR k.target = 'function' AND k.id = l.function_id"
    "  OR k.target = 'source' AND k.id = l.source_id)"
    " ORDER BY up.n, l.inline_level LIMIT 1";

void caller_line_append(const struct rundb *database, int64_t call_site_id, char *text, size_t size)
{
    static const struct where_columns columns = {0, 1, 2, 3};
    static const char from[] = "  from ";
    size_t used = strlen(text);
    struct sqlite3_stmt *stmt;
    struct error ignored;

    if (used + sizeof(from) >= size || rundb_prepare(database, line_sql, &stmt, &ignored) != 0)
        return;
    sqlite3_bind_int64(stmt, 1, call_site_id);
    if (rundb_step(database, stmt, &ignored) == 1) {
        memcpy(text + used, from, sizeof(from));
        stack_text_format_place(stmt, &columns, text + used + strlen(from),
                                size - used - strlen(from));
    }
    sqlite3_finalize(stmt);
}
