/* SPDX-License-Identifier: MIT */
/* lost, held, and why ADDRESS: the shortest path from a root to a block, by the last heap image
 * with that block; why --site N: that to the largest block of a call site. */
#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/filter/filter.h"
#include "queries/reports/reports.h"

/* The root comes first, then each block on the way, last the block itself. The path of a lost block
 * begins at the lost block that leads to it. */
static const char path_sql[] =
    "WITH RECURSIVE target AS (SELECT h.image_id, h.allocation_id, h.distance, h.root_id"
    "   FROM heap_images AS i CROSS JOIN allocation_rows AS a"
    "   CROSS JOIN heap_image_blocks AS h ON h.image_id = i.image_id AND h.allocation_id = a.allocation_id"
    "   WHERE (:address IS NULL OR a.address <= :address AND a.address + max(a.size_bytes, 1) > :address)"
    "   AND (:site IS NULL OR a.backtrace_id IN (SELECT backtrace_id FROM backtraces WHERE call_site_id = :site))"
    "   ORDER BY h.image_id DESC, a.size_bytes DESC, a.allocation_id LIMIT 1),"
    " path(image_id, allocation_id, step) AS (SELECT image_id, allocation_id, distance FROM target"
    "   UNION ALL SELECT h.image_id, h.holder_allocation_id, p.step - 1 FROM path AS p"
    "   JOIN heap_image_blocks AS h ON h.image_id = p.image_id AND h.allocation_id = p.allocation_id"
    "   WHERE h.holder_allocation_id IS NOT NULL)"
    " SELECT 0 AS step, r.kind AS state, NULL AS address, NULL AS size_bytes,"
    "   CASE WHEN r.symbol IS NULL OR r.offset_bytes = 0 THEN ifnull(r.symbol, r.function)"
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

static int need_image(const struct query *query, struct error *err)
{
    int64_t n_images = 0;
    int rc = rundb_get_int64(&query->database, "SELECT count(*) FROM heap_images", &n_images, err);

    return rc || n_images
               ? rc
               : error_set(err, ERROR_NOT_FOUND,
                           "there is no heap image: record with mtrace-record --heap-image=exit, "
                           "or take one with mtrace-record --ctl PID heap-image");
}

int cmd_images_run(struct query *query, struct error *err)
{
    int rc = need_image(query, err);

    return rc ? rc : report_run(query, err);
}

static void bind(struct sqlite3_stmt *stmt, const char *name, int64_t value)
{
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, name), value);
}

int cmd_why_run(struct query *query, struct error *err)
{
    static const struct filter_parameter address = {.name = "address", .type = FILTER_ADDRESS};
    struct filter parsed = {.n_values = 0};
    const char *text = query->options->n_arguments > 0 ? query->options->arguments[0] : NULL;
    const int64_t site_id = query->options->site_id;
    struct sqlite3_stmt *stmt;
    int64_t n_rows = 0;
    int rc = text || site_id ? need_image(query, err)
                             : error_set(err, ERROR_USAGE, "why needs an address, or a call site");

    if (rc == 0 && text)
        rc = filter_add(&parsed, &address, text, err);
    if (rc == 0)
        rc = rundb_prepare(&query->database, path_sql, &stmt, err);
    if (rc != 0)
        return rc;
    if (text)
        bind(stmt, ":address", (int64_t)parsed.values[0].number);
    if (site_id)
        bind(stmt, ":site", site_id);
    if (!query_show_sql(query, stmt)) {
        rc = render_statement(&query->database, stmt, &query->style, -1, query->out, &n_rows, err);
        if (rc == 0 && n_rows == 0)
            query_note(query, "no block of a heap image is there");
    }
    sqlite3_finalize(stmt);
    return rc;
}
