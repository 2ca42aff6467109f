/* SPDX-License-Identifier: MIT */
/* growth: rows, and as a picture the live bytes of its first call sites. */
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/render/chart.h"
#include "queries/render/stack_text.h"
#include "queries/render/svg.h"
#include "queries/reports/reports.h"

#include <stdlib.h>

enum {
    MAX_LINES = 10,
    MAX_SNAPSHOTS = 256,
    NAME_BYTES = 256,
    TITLE_BYTES = 1024
};

struct lines {
    const struct query *query;
    int64_t process_id; /* of the first row, unless --process is given */
    int64_t sites[MAX_LINES];
    char names[MAX_LINES][NAME_BYTES];
    int64_t values[MAX_LINES][MAX_SNAPSHOTS];
    int64_t at_ns[MAX_SNAPSHOTS];
    size_t n, n_snapshots;
};

static const char sites_sql[] =
    "SELECT process_id, ifnull(call_site_id, 0), function, source, line, module FROM growth"
    " WHERE process_id = (SELECT process_id FROM growth WHERE :process IN (0, process_id)"
    " AND :site IN (0, call_site_id) ORDER BY weight DESC LIMIT 1)"
    " AND :site IN (0, call_site_id) ORDER BY weight DESC, call_site_id LIMIT :count";

static int read_sites(struct lines *lines, struct error *err)
{
    static const struct where_columns columns = {2, 3, 4, 5};
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&lines->query->database, sites_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, lines->query->options->process_id);
    sqlite3_bind_int64(stmt, 2, lines->query->options->site_id);
    sqlite3_bind_int64(stmt, 3, MAX_LINES);
    while ((rc = rundb_step(&lines->query->database, stmt, err)) == 1) {
        lines->process_id = sqlite3_column_int64(stmt, 0);
        lines->sites[lines->n] = sqlite3_column_int64(stmt, 1);
        stack_text_format_place(stmt, &columns, lines->names[lines->n++], NAME_BYTES);
    }
    sqlite3_finalize(stmt);
    return rc == 0 && lines->n == 0
               ? error_set(err, ERROR_NOT_FOUND, "nothing to draw: nothing grew")
               : rc;
}

/* A snapshot has a row for a call site only if its live bytes changed; otherwise the previous value
 * holds. */
static const char levels_sql[] =
    "SELECT n.at_ns, s.call_site_id, s.change_bytes FROM snapshots AS n"
    " LEFT JOIN snapshot_sites AS s ON s.snapshot_id = n.snapshot_id"
    " WHERE n.process_id = :process AND n.reason = 'regular' ORDER BY n.at_ns, n.snapshot_id";

static void begin_snapshot(struct lines *lines, int64_t at_ns)
{
    size_t now = lines->n_snapshots++;

    lines->at_ns[now] = at_ns;
    for (size_t i = 0; i < lines->n; i++)
        lines->values[i][now] = now ? lines->values[i][now - 1] : 0;
}

static void add_change(struct lines *lines, struct sqlite3_stmt *row)
{
    int64_t at_ns = sqlite3_column_int64(row, 0);

    if (lines->n_snapshots == 0 || lines->at_ns[lines->n_snapshots - 1] != at_ns) {
        if (lines->n_snapshots == MAX_SNAPSHOTS)
            return;
        begin_snapshot(lines, at_ns);
    }
    for (size_t i = 0; i < lines->n; i++) {
        if (lines->sites[i] == sqlite3_column_int64(row, 1))
            saturating_grow(&lines->values[i][lines->n_snapshots - 1],
                            sqlite3_column_int64(row, 2));
    }
}

static int read_levels(struct lines *lines, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&lines->query->database, levels_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, lines->process_id);
    while ((rc = rundb_step(&lines->query->database, stmt, err)) == 1)
        add_change(lines, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

static int draw(const struct lines *lines, struct error *err)
{
    char title[TITLE_BYTES];
    char filters[TITLE_BYTES];
    char subtitle[2 * TITLE_BYTES];
    struct chart chart = {.title = title,
                          .subtitle = subtitle,
                          .form = CHART_LINES,
                          .unit = CHART_BYTES,
                          .n_steps = lines->n_snapshots,
                          .n_series = lines->n,
                          .from_ns = lines->at_ns[0],
                          .to_ns = lines->at_ns[lines->n_snapshots - 1]};
    int rc = headline_format(lines->query, lines->process_id, title, sizeof(title), err);

    headline_filters(lines->query, filters, sizeof(filters));
    (void)snprintf(subtitle, sizeof(subtitle), "live bytes of the call sites that grew most%s",
                   filters);
    for (size_t i = 0; i < lines->n; i++)
        chart.series[i] = (struct chart_series){lines->names[i], lines->values[i], false};
    if (rc == 0)
        chart_draw(&chart, lines->query->out);
    return rc;
}

static int draw_growth(struct query *query, struct error *err)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    int rc = lines ? svg_check_output(&query->style, err)
                   : error_set(err, ERROR_NOMEM, "no memory for a picture");

    if (lines)
        lines->query = query;
    if (rc == 0)
        rc = read_sites(lines, err);
    if (rc == 0)
        rc = read_levels(lines, err);
    if (rc == 0 && lines->n_snapshots == 0)
        rc = error_set(err, ERROR_NOT_FOUND, "nothing to draw: there are no snapshots");
    if (rc == 0)
        rc = draw(lines, err);
    free(lines);
    return rc;
}

int cmd_growth_run(struct query *query, struct error *err)
{
    return query_is_picture(query->output_name) ? draw_growth(query, err) : report_run(query, err);
}
