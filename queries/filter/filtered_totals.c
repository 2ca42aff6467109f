/* SPDX-License-Identifier: MIT */
#include "queries/filter/filtered_totals.h"

#include "lib/base/error.h"
#include "lib/totals/function_totals.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/level_rows.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_totals.h"

#include <string.h>

/* Names as in the file, without NOT NULL: a scan does not know all columns. */
static const char tables_sql[] =
    "CREATE TEMP TABLE backtrace_totals(process_id INTEGER, backtrace_id INTEGER, allocated_blocks INTEGER,"
    " allocated_bytes INTEGER, freed_blocks INTEGER, freed_bytes INTEGER, leaked_blocks INTEGER, leaked_bytes INTEGER,"
    " leaked_first_ns INTEGER, leaked_last_ns INTEGER, temporary_blocks INTEGER, temporary_bytes INTEGER,"
    " peak_blocks INTEGER, peak_bytes INTEGER, own_peak_bytes INTEGER, own_peak_ns INTEGER, first_ns INTEGER,"
    " last_ns INTEGER, min_size_bytes INTEGER, max_size_bytes INTEGER, slack_bytes INTEGER, lifetime_sum_ns INTEGER,"
    " chains_started INTEGER, chains_leaked INTEGER, realloc_count INTEGER, realloc_copied_bytes INTEGER,"
    " elided_blocks INTEGER, elided_bytes INTEGER, allocated_blocks_margin REAL, allocated_bytes_margin REAL,"
    " leaked_blocks_margin REAL, leaked_bytes_margin REAL, peak_blocks_margin REAL, peak_bytes_margin REAL,"
    " PRIMARY KEY (process_id, backtrace_id)) WITHOUT ROWID;";

static const char row_tables_sql[] =
    "CREATE TEMP TABLE free_sites(process_id INTEGER, backtrace_id INTEGER, free_backtrace_id INTEGER, blocks INTEGER,"
    " bytes INTEGER, PRIMARY KEY (process_id, backtrace_id, free_backtrace_id)) WITHOUT ROWID;"
    "CREATE TEMP TABLE leaked_allocations(process_id INTEGER, backtrace_id INTEGER, part INTEGER, blocks INTEGER,"
    " bytes INTEGER, PRIMARY KEY (process_id, backtrace_id, part)) WITHOUT ROWID;";

/* The other totals, by the stacks that were selected. */
static const char views_sql[] =
    "CREATE TEMP VIEW free_sites AS SELECT f.* FROM main.free_sites AS f JOIN temp.backtrace_totals AS t"
    " ON t.process_id = f.process_id AND t.backtrace_id = f.backtrace_id;"
    "CREATE TEMP VIEW chain_totals AS SELECT c.* FROM main.chain_totals AS c JOIN temp.backtrace_totals AS t"
    " ON t.process_id = c.process_id AND t.backtrace_id = c.first_backtrace_id;"
    "CREATE TEMP VIEW snapshot_backtraces AS SELECT s.* FROM main.snapshot_backtraces AS s"
    " WHERE s.backtrace_id IN (SELECT backtrace_id FROM temp.backtrace_totals);"
    "CREATE TEMP VIEW heap_pins AS SELECT h.* FROM main.heap_pins AS h"
    " WHERE h.common_frames = 0 AND h.backtrace_id IN (SELECT backtrace_id FROM temp.backtrace_totals);"
    "CREATE TEMP VIEW unclaimed_totals AS SELECT u.* FROM main.unclaimed_totals AS u JOIN object_walks AS w ON w.walk_id = u.walk_id"
    " JOIN temp.backtrace_totals AS t ON t.process_id = w.process_id AND t.backtrace_id = u.backtrace_id;";

static const char functions_sql[] =
    "CREATE TEMP TABLE function_totals AS SELECT * FROM main.function_totals WHERE 0;"
    "CREATE TEMP TABLE module_totals AS SELECT * FROM main.module_totals WHERE 0;";

/* Sums up the selected stacks by function and module. */
static int fill_functions(struct rundb *database, const struct filtered_totals_request *request,
                          struct error *err)
{
    int rc = request->has_functions ? rundb_run(database, functions_sql, err) : 0;

    if (rc != 0 || !request->has_functions)
        return rc;
    rc = function_totals_write(database->handle, err);
    return rc != 0 && rundb_go_on(database, err) != 0 ? ERROR_INTERRUPTED : rc;
}

static const char shown[] = "the totals below are";

static int select_totals(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    int rc = filter_sql_insert(filter, "backtrace_totals", filter_sql_totals(filter, "g.*"), err);

    return rc == 0 ? rundb_run(database, views_sql, err) : rc;
}

/* The pattern of leaks uses the live bytes of the whole call site, even if only some of its stacks
 * are selected. It is computed again only for commands that are only about leaks. */
enum {
    ALWAYS = RUNDB_SITE_TOTALS | RUNDB_SITE_LEAKS | RUNDB_SITE_FREES,
    OVER_TIME = RUNDB_SNAPSHOT_SITES | RUNDB_SITE_GROWTH
};

/* ---- by stacks ---- */

static int install_stacks(struct rundb *database, const struct filtered_totals_request *request,
                          struct error *err)
{
    struct filter_sql sql;
    int rc = filter_sql_init(&sql, database, request->filter, request->process_id, 0, err);

    if (rc == 0)
        rc = rundb_run(database, tables_sql, err);
    if (rc == 0 && request->show_sql) {
        rc = filter_sql_show(&sql, filter_sql_totals(&sql, "g.*"), shown, request->show_sql, err);
    } else if (rc == 0) {
        rc = select_totals(database, &sql, err);
        if (rc == 0)
            rc = fill_functions(database, request, err);
        if (rc == 0)
            rc = rundb_compute(
                database,
                request->is_over_time || request->is_blamed_again ? ALWAYS | OVER_TIME : ALWAYS,
                err);
    }
    filter_sql_done(&sql);
    return rc;
}

/* ---- by rows ---- */

static void leave_out(struct filter *filter, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < filter->n_values; i++) {
        if (strcmp(filter->values[i].parameter->name, name) != 0)
            filter->values[n++] = filter->values[i];
    }
    filter->n_values = n;
}

/* `from` and `to` are the analysis range here, not allocation times. */
static int fill_levels(struct rundb *database, const struct filter_sql *sql,
                       const struct filtered_totals_request *request, struct error *err)
{
    struct level_rows_request levels = {.filter = sql, .n_instants = FILTERED_TOTALS_INSTANTS};
    int rc = filter_sql_range(sql, request->filter, &levels.from_ns, &levels.to_ns, err);

    if (request->is_to_the_end && levels.to_ns == INT64_MAX)
        levels.to_ns = sql->end_ns;
    if (rc == 0)
        rc = level_rows_fill(database, &levels, err);
    return rc == 0 ? rundb_compute(database, RUNDB_SITE_GROWTH, err) : rc;
}

static struct row_totals_request totals_request(const struct filter_sql *sql,
                                                const struct filtered_totals_request *request)
{
    return (struct row_totals_request){
        .filter = sql,
        .as_of = request->is_of_leaks ? filter_instant(request->filter) : NULL,
        .from = filter_sql_widest(sql, request->filter, "from"),
        .to = filter_sql_widest(sql, request->filter, "to"),
        .is_of_leaks = request->is_of_leaks,
        .has_own_peaks = request->has_own_peaks};
}

static int fill_totals(struct rundb *database, const struct filter_sql *sql,
                       const struct filtered_totals_request *request, struct error *err)
{
    const struct row_totals_request totals = totals_request(sql, request);
    int rc = rundb_run(database, tables_sql, err);

    if (rc == 0)
        rc = rundb_run(database, row_tables_sql, err);
    if (rc == 0)
        rc = row_totals_fill(database, &totals, err);
    if (rc == 0)
        rc = fill_functions(database, request, err);
    return rc == 0 ? rundb_compute(database, request->is_blamed_again ? ALWAYS | OVER_TIME : ALWAYS,
                                   err)
                   : rc;
}

/* --show-sql prints the statement that is run. */
static unsigned without(const struct filter_sql *sql, const struct filtered_totals_request *request)
{
    const struct row_totals_request totals = totals_request(sql, request);

    return request->is_over_time ? LEVEL_ROWS_WITHOUT : row_totals_without(&totals);
}

/* The range of the named windows or phases of the process: from the start of the first to the end
 * of the last. */
static const char windows_sql[] =
    "CREATE TEMP TABLE _recorded AS SELECT w.process_id, min(w.start_ns) AS start_ns,"
    " max(coalesce(w.end_ns, p.end_ns)) AS end_ns FROM main.windows AS w"
    " JOIN main.processes AS p ON p.process_id = w.process_id"
    " WHERE w.window_id || '' IN (%s) GROUP BY w.process_id";
static const char phases_sql[] =
    "CREATE TEMP TABLE _recorded AS SELECT h.process_id, min(h.start_ns) AS start_ns,"
    " max(coalesce(h.end_ns, p.end_ns)) AS end_ns FROM main.phases AS h"
    " JOIN main.processes AS p ON p.process_id = h.process_id"
    " WHERE h.phase_id || '' IN (%s) OR h.name IN (%s) GROUP BY h.process_id";

/* The analysis range is that of the selected windows or phases, not the whole recorded time. */
static int judge_named(struct rundb *database, const struct filter *filter, const char *name,
                       const char *table_sql, bool *ret_is_named, struct error *err)
{
    struct sqlite3_str *names = sqlite3_str_new(database->handle);
    char *list, *sql;
    int rc = 0;

    for (size_t i = 0; i < filter->n_values; i++)
        if (strcmp(filter->values[i].parameter->name, name) == 0)
            sqlite3_str_appendf(names, "%s%Q", sqlite3_str_length(names) ? ", " : "",
                                filter->values[i].text);
    *ret_is_named = sqlite3_str_length(names) > 0;
    list = sqlite3_str_finish(names);
    if (!*ret_is_named)
        return 0;
    sql = list ? sqlite3_mprintf(table_sql, list, list) : NULL;
    if (!sql)
        rc = error_set(err, ERROR_NOMEM, "no memory for a statement");
    if (rc == 0)
        rc = rundb_run(database, "DROP VIEW temp._recorded", err);
    if (rc == 0)
        rc = rundb_run(database, sql, err);
    sqlite3_free(sql);
    sqlite3_free(list);
    return rc;
}

static int narrow_in_range(struct rundb *database, const struct filter *filter, struct error *err)
{
    bool is_named;
    int rc = judge_named(database, filter, "phase", phases_sql, &is_named, err);

    return rc == 0 && !is_named
               ? judge_named(database, filter, "window", windows_sql, &is_named, err)
               : rc;
}

static int install_rows(struct rundb *database, const struct filtered_totals_request *request,
                        struct error *err)
{
    struct filter filter = *request->filter;
    struct filter_sql sql;
    int rc;

    if (request->is_over_time) {
        leave_out(&filter, "from");
        leave_out(&filter, "to");
    }
    if (request->is_of_leaks)
        leave_out(&filter, "alive_at");
    rc = filter_sql_init(&sql, database, &filter, request->process_id, 0, err);
    if (rc == 0)
        rc = filter_sql_check_instants(&sql, request->filter, err); /* also of what was left out */
    if (rc == 0 && request->show_sql) {
        rc = rundb_run(database, tables_sql, err);
        if (rc == 0)
            rc = filter_sql_show(&sql, row_feed_sql(&sql, without(&sql, request)), shown,
                                 request->show_sql, err);
    } else if (rc == 0) {
        rc = narrow_in_range(database, request->filter, err);
        if (rc == 0)
            rc = request->is_over_time ? fill_levels(database, &sql, request, err)
                                       : fill_totals(database, &sql, request, err);
    }
    filter_sql_done(&sql);
    return rc;
}

int filtered_totals_install(struct rundb *database, const struct filtered_totals_request *request,
                            struct error *err)
{
    if (request->filter->n_values == 0 && !request->is_to_the_end && !request->is_blamed_again)
        return 0;
    return request->is_to_the_end || filter_scope_of(request->filter) == FILTER_SCOPE_ROW
               ? install_rows(database, request, err)
               : install_stacks(database, request, err);
}

int filtered_totals_fill_passed(struct rundb *database, const struct filter_sql *filter,
                                const char *condition, struct error *err)
{
    int rc = rundb_run(database, "CREATE TEMP TABLE _passed(id INTEGER PRIMARY KEY)", err);

    return rc ? rc
              : filter_sql_insert(filter, "_passed",
                                  filter_sql_rows(filter, "a.allocation_id", 0, condition), err);
}

static const char claims_sql[] =
    "CREATE TEMP VIEW object_claims AS SELECT * FROM main.object_claims"
    " WHERE NOT is_repeated OR allocation_id IN (SELECT id FROM temp._passed);";

int filtered_totals_fill_claims(struct rundb *database, const struct filter_sql *filter,
                                struct error *err)
{
    int rc = filtered_totals_fill_passed(database, filter,
                                         " AND a.allocation_id IN (SELECT c.allocation_id"
                                         " FROM main.object_claims AS c WHERE c.is_repeated)",
                                         err);

    return rc == 0 ? rundb_run(database, claims_sql, err) : rc;
}
