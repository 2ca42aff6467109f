/* SPDX-License-Identifier: MIT */
#include "queries/reports/process_ranking.h"

#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"
#include "queries/render/stack_text.h"
#include "queries/render/table.h"

#include <inttypes.h>
#include <string.h>

enum {
    CELL_BYTES = 1024,
    TOP_SITES = 10
};

const char process_ranking_source[] =
    "(SELECT p.process_id, p.pid, p.executable,"
    " (SELECT group_concat(value, ' ') FROM json_each(p.command_line)) AS command_line, p.peak_bytes, p.peak_blocks,"
    " ifnull(l.bytes, 0) AS leaked_bytes, ifnull(l.blocks, 0) AS leaked_blocks, p.events,"
    " p.start_ns, p.duration_ns, p.end_kind, p.end_value,"
    " CASE WHEN p.end_kind = 'signal' THEN coalesce('SIG' || json_extract('[null,\"HUP\",\"INT\",\"QUIT\",\"ILL\",\"TRAP\",\"ABRT\","
    "\"BUS\",\"FPE\",\"KILL\",\"USR1\",\"SEGV\",\"USR2\",\"PIPE\",\"ALRM\",\"TERM\",\"STKFLT\",\"CHLD\",\"CONT\",\"STOP\",\"TSTP\",\"TTIN\","
    "\"TTOU\",\"URG\",\"XCPU\",\"XFSZ\",\"VTALRM\",\"PROF\",\"WINCH\",\"IO\",\"PWR\",\"SYS\"]', '$[' || p.end_value || ']'), 'signal ' || p.end_value)"
    " END AS signal_name, p.parent_process_id"
    " FROM processes AS p LEFT JOIN (SELECT process_id, sum(leaked_bytes) AS bytes,"
    " sum(leaked_blocks) AS blocks FROM site_leaks WHERE rule_id IS NULL GROUP BY process_id) AS l"
    " ON l.process_id = p.process_id)";

static const char sites_sql[] =
    "SELECT sum(l.leaked_bytes), sum(l.leaked_blocks), count(DISTINCT l.process_id), s.function,"
    " s.source, s.line, s.module FROM site_leaks AS l"
    " LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id WHERE l.rule_id IS NULL"
    " GROUP BY l.call_site_id ORDER BY 1 DESC, 2 DESC, l.call_site_id LIMIT :count";

static int print_totals(const struct query *query, struct error *err)
{
    char leaked[UNITS_TEXT_BYTES];
    char blocks[UNITS_TEXT_BYTES];
    char peak[UNITS_TEXT_BYTES];
    char filters[CELL_BYTES];
    struct sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf("SELECT count(*), sum(leaked_bytes), sum(leaked_blocks),"
                                " max(peak_bytes), process_id FROM %s",
                                process_ranking_source);
    int rc = sql ? rundb_prepare(&query->database, sql, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    rc = rundb_step(&query->database, stmt, err);
    headline_filters(query, filters, sizeof(filters));
    const bool is_live = strcmp(headline_leaked(query, 0), "live") == 0;
    if (rc == 1)
        headline_print_file(query);
    if (rc == 1)
        (void)fprintf(query->out,
                      "%" PRId64 " processes %s %s in %s; the highest peak is %s in"
                      " process %" PRId64 "%s\n",
                      (int64_t)sqlite3_column_int64(stmt, 0), is_live ? "hold" : "leaked",
                      units_format_bytes(sqlite3_column_int64(stmt, 1), leaked),
                      units_format_counted(sqlite3_column_int64(stmt, 2), "block", blocks),
                      units_format_bytes(sqlite3_column_int64(stmt, 3), peak),
                      (int64_t)sqlite3_column_int64(stmt, 4), filters);
    sqlite3_finalize(stmt);
    return rc < 0 ? rc : headline_notes(query, 0, err);
}

static void add_site(struct table *table, struct sqlite3_stmt *row)
{
    static const struct where_columns where = {3, 4, 5, 6};
    char text[CELL_BYTES];

    table_add_cell(table, units_format_bytes(sqlite3_column_int64(row, 0), text));
    table_add_cell(table, units_format_count(sqlite3_column_int64(row, 1), text));
    table_add_cell(table, units_format_count(sqlite3_column_int64(row, 2), text));
    stack_text_add_place(table, row, &where, "");
}

/* Worker processes of a program leak at the same call site; each leak alone is small. */
static int print_sites(const struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    struct table table;
    char title[CELL_BYTES];
    int rc = rundb_prepare(&query->database, sites_sql, &stmt, err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, TOP_SITES);
    table_init(&table);
    table_add_column(&table, "bytes", true);
    table_add_column(&table, "blocks", true);
    table_add_column(&table, "processes", true);
    (void)snprintf(title, sizeof(title), "%s, all processes together", headline_leaked(query, 0));
    table_add_column(&table, title, false);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1)
        add_site(&table, stmt);
    sqlite3_finalize(stmt);
    if (rc == 0 && table.n_cells > 0)
        rc = table_print(&table, query->style.width, query->style.is_coloured, query->out, err);
    table_done(&table);
    return rc;
}

static int prepare_ranking(const struct query *query, const char *columns, const char *by,
                           int64_t count, struct sqlite3_stmt **ret, struct error *err)
{
    char *sql = sqlite3_mprintf("SELECT %s FROM %s ORDER BY %s DESC, process_id LIMIT %lld",
                                columns, process_ranking_source, by, (long long)count);
    int rc = sql ? rundb_prepare(&query->database, sql, ret, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    return rc;
}

static int print_ranking(const struct query *query, const char *by, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare_ranking(query,
                             "process_id, pid, executable, leaked_bytes, leaked_blocks,"
                             " peak_bytes, duration_ns, end_kind, end_value",
                             by, query_max_rows(query), &stmt, err);

    if (rc != 0)
        return rc;
    (void)fputs("\n", query->out);
    rc = render_statement(&query->database, stmt, &query->style, -1, query->out, NULL, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int print_first(struct query *query, const char *by, int64_t n_processes,
                       int (*print)(struct query *, int64_t, struct error *), struct error *err)
{
    int64_t n_shown = query->options->count == 0 ? n_processes : PROCESS_RANKING_SCREENS;
    struct sqlite3_stmt *stmt = NULL;
    int step = 0;
    int rc = prepare_ranking(query, "process_id", by, n_shown, &stmt, err);

    while (rc == 0 && (step = rundb_step(&query->database, stmt, err)) == 1) {
        (void)fputs("\n", query->out);
        rc = print(query, sqlite3_column_int64(stmt, 0), err);
    }
    sqlite3_finalize(stmt);
    if (rc == 0 && step == 0 && n_processes > n_shown)
        (void)fprintf(query->out, "and %" PRId64 " more process%s: --process ID\n",
                      n_processes - n_shown, n_processes - n_shown == 1 ? "" : "es");
    return rc ? rc : step;
}

int process_ranking_each(struct query *query, const char *by,
                         int (*print)(struct query *, int64_t process_id, struct error *),
                         struct error *err)
{
    int64_t n_processes = 0;
    int rc = rundb_get_int64(&query->database, "SELECT count(*) FROM processes", &n_processes, err);

    if (rc != 0)
        return rc;
    if (query->options->process_id || n_processes <= PROCESS_RANKING_SCREENS)
        return headline_each_process(query, print, err);
    rc = print_totals(query, err);
    if (rc == 0)
        rc = print_sites(query, err);
    if (rc == 0)
        rc = print_ranking(query, by, err);
    return rc == 0 ? print_first(query, by, n_processes, print, err) : rc;
}
