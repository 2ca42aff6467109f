/* SPDX-License-Identifier: MIT */
/* why ADDRESS: the shortest path from a root to a block, by the last heap image with that block. */
#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/filter/filter.h"
#include "queries/reports/reports.h"

/* The root comes first, then each block on the way, last the block itself. The path of a lost block
 * begins at the lost block that leads to it. */
static const char path_sql[] =
    "WITH RECURSIVE target AS (SELECT h.image_id, h.allocation_id, h.distance, h.root_id"
    "   FROM heap_images AS i CROSS JOIN allocation_rows AS a"
    "   CROSS JOIN heap_image_blocks AS h ON h.image_id = i.image_id AND h.allocation_id = a.allocation_id"
    "   WHERE a.address <= :address AND a.address + max(a.size_bytes, 1) > :address"
    "   ORDER BY h.image_id DESC LIMIT 1),"
    " path(image_id, allocation_id, step) AS (SELECT image_id, allocation_id, distance FROM target"
    "   UNION ALL SELECT h.image_id, h.holder_allocation_id, p.step - 1 FROM path AS p"
    "   JOIN heap_image_blocks AS h ON h.image_id = p.image_id AND h.allocation_id = p.allocation_id"
    "   WHERE h.holder_allocation_id IS NOT NULL)"
    " SELECT 0 AS step, r.kind AS state, NULL AS address, NULL AS size_bytes,"
    "   CASE WHEN r.symbol IS NULL OR r.offset_bytes = 0 THEN r.symbol"
    "     ELSE printf('%s+0x%x', r.symbol, r.offset_bytes) END AS function,"
    "   NULL AS source, NULL AS line, r.module, NULL AS age_ns, NULL AS backtrace_id"
    " FROM target AS t JOIN roots AS r ON r.root_id = t.root_id"
    " UNION ALL SELECT p.step, h.state, a.address, a.size_bytes, s.function, s.source, s.line, s.module,"
    "   i.at_ns - a.alloc_ns, a.backtrace_id"
    " FROM path AS p JOIN heap_images AS i ON i.image_id = p.image_id"
    " JOIN heap_image_blocks AS h ON h.image_id = p.image_id AND h.allocation_id = p.allocation_id"
    " JOIN allocation_rows AS a ON a.allocation_id = p.allocation_id"
    " LEFT JOIN backtraces AS b ON b.backtrace_id = a.backtrace_id"
    " LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id ORDER BY step";

int cmd_why_run(struct query *query, struct error *err)
{
    static const struct filter_parameter address = {.name = "address", .type = FILTER_ADDRESS};
    struct filter parsed = {.n_values = 0};
    struct sqlite3_stmt *stmt;
    int rc = filter_add(&parsed, &address, query->options->arguments[0], err);

    if (rc == 0)
        rc = rundb_prepare(&query->database, path_sql, &stmt, err);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, (int64_t)parsed.values[0].number);
    if (!query_show_sql(query, stmt))
        rc = render_statement(&query->database, stmt, &query->style, -1, query->out, NULL, err);
    sqlite3_finalize(stmt);
    return rc;
}
