/* SPDX-License-Identifier: MIT */
#include "queries/heap/heap_tables.h"

#include "lib/base/error.h"
#include "queries/core/query.h"
#include "queries/core/query_open.h"

#include <stdbool.h>
#include <string.h>

/* Names and columns as in the file. */
static const char tables_sql[] =
    "DROP VIEW IF EXISTS temp.heap_pins;"
    "CREATE TEMP TABLE snapshots(snapshot_id INTEGER PRIMARY KEY, process_id INTEGER, at_ns INTEGER, reason TEXT);"
    "CREATE TEMP TABLE heap_states(snapshot_id INTEGER, heap_id INTEGER, extent_bytes INTEGER, live_bytes INTEGER,"
    " slack_bytes INTEGER, overhead_bytes INTEGER, hole_bytes INTEGER, free_page_bytes INTEGER, top_bytes INTEGER,"
    " topmost_allocation_id INTEGER, topmost_backtrace_id INTEGER, pages_to_25 INTEGER, pages_to_50 INTEGER,"
    " pages_to_75 INTEGER, pages_to_100 INTEGER, PRIMARY KEY (snapshot_id, heap_id)) WITHOUT ROWID;"
    "CREATE TEMP TABLE heap_pages(snapshot_id INTEGER, page_address INTEGER, page_count INTEGER, heap_id INTEGER, usable_bytes INTEGER,"
    " live_blocks INTEGER, owner_backtrace_id INTEGER, example_allocation_id INTEGER,"
    " any_backtrace_id INTEGER, common_frames INTEGER,"
    " PRIMARY KEY (snapshot_id, page_address)) WITHOUT ROWID;"
    "CREATE TEMP TABLE heap_pins(snapshot_id INTEGER, backtrace_id INTEGER, common_frames INTEGER, pages INTEGER,"
    " usable_bytes INTEGER, emptiest_usable_bytes INTEGER, example_allocation_id INTEGER,"
    " PRIMARY KEY (snapshot_id, backtrace_id, common_frames)) WITHOUT ROWID;";

/* The window of one owner begins with its emptiest page. */
static const char pins_sql[] =
    "INSERT INTO temp.heap_pins SELECT snapshot_id, any_backtrace_id, common_frames, pages, usable_bytes, emptiest_usable_bytes,"
    " example_allocation_id FROM (SELECT snapshot_id, any_backtrace_id, common_frames, count(*) OVER every AS pages,"
    " sum(usable_bytes) OVER every AS usable_bytes, usable_bytes AS emptiest_usable_bytes, example_allocation_id,"
    " row_number() OVER (PARTITION BY snapshot_id, any_backtrace_id, common_frames ORDER BY usable_bytes, page_address)"
    " AS place FROM temp.heap_pages WHERE common_frames IS NOT NULL"
    " WINDOW every AS (PARTITION BY snapshot_id, any_backtrace_id, common_frames)) WHERE place = 1;";

/* The times of the file need no scan. */
static const char peak_sql[] =
    "CREATE TEMP VIEW snapshots AS SELECT * FROM main.snapshots WHERE reason = 'peak';";
static const char end_sql[] =
    "CREATE TEMP VIEW snapshots AS SELECT * FROM main.snapshots WHERE reason = 'end';";

static const char selected_pins_sql[] =
    "DELETE FROM temp.heap_pins WHERE common_frames > 0 OR backtrace_id NOT IN (SELECT backtrace_id FROM temp.backtrace_totals);";

static bool is_instant(const struct filter_value *value)
{
    return strcmp(value->parameter->name, "alive_at") == 0;
}

int heap_tables_compile(const struct query *query, const struct filter_value *value,
                        struct filter_sql *ret_filter, struct heap_scan_instant *ret_instant,
                        struct error *err)
{
    struct filter only = {.values = {*value}, .n_values = 1};
    int rc =
        filter_sql_init(ret_filter, &query->database, &only, query->options->process_id, 0, err);

    if (rc != 0)
        return rc;
    ret_instant->filter = ret_filter;
    if (value->is_peak || value->is_end)
        (void)snprintf(ret_instant->at_sql, sizeof(ret_instant->at_sql), "%s",
                       value->is_peak ? "p.peak_ns" : "p.end_ns");
    else
        (void)snprintf(ret_instant->at_sql, sizeof(ret_instant->at_sql), "%lld",
                       (long long)filter_sql_resolve(ret_filter, value));
    return 0;
}

/* ---- filling ---- */

struct tables {
    const struct rundb *database;
    struct sqlite3_stmt *page, *state;
};

static int insert(const struct tables *tables, struct sqlite3_stmt *into, const int64_t *values,
                  size_t n, struct error *err)
{
    (void)sqlite3_clear_bindings(into);
    return rundb_insert(tables->database, into, values, n, err);
}

/* common_frames as in heap_pins; -1: none or unknown */
static int put_page(void *to, const struct heap_scan_heap *heap, const struct heap_scan_page *page,
                    struct error *err)
{
    bool is_one = page->common_frames == HEAP_SCAN_ONE_STACK && !heap->has_unseen;
    bool is_shared = !is_one && page->common_frames && !heap->has_unseen;
    const int64_t values[] = {heap->process_id,
                              (int64_t)page->address,
                              heap->heap_id,
                              (int64_t)page->live_bytes,
                              (int64_t)page->live_blocks,
                              is_one ? page->owner_backtrace_id : -1,
                              page->example_allocation_id,
                              page->owner_backtrace_id,
                              is_one      ? 0
                              : is_shared ? page->common_frames
                                          : -1};
    const struct tables *tables = to;

    return insert(tables, tables->page, values, sizeof(values) / sizeof(values[0]), err);
}

/* The first columns of heap_states; the others are NULL if blocks are unseen. */
enum {
    N_KNOWN_OF_UNSEEN = 5
};

static int put_state(void *to, const struct heap_scan_heap *heap,
                     const struct heap_scan_state *state, struct error *err)
{
    const struct heap_parts *parts = &state->parts;
    const int64_t values[] = {heap->process_id,
                              heap->heap_id,
                              (int64_t)parts->extent_bytes,
                              (int64_t)parts->live_bytes,
                              (int64_t)parts->slack_bytes,
                              (int64_t)parts->overhead_bytes,
                              (int64_t)parts->hole_bytes,
                              (int64_t)parts->free_page_bytes,
                              (int64_t)parts->top_bytes,
                              state->topmost_allocation_id,
                              state->topmost_backtrace_id,
                              (int64_t)state->pages_to[0],
                              (int64_t)state->pages_to[1],
                              (int64_t)state->pages_to[2],
                              (int64_t)state->pages_to[3]};
    const struct tables *tables = to;

    return insert(tables, tables->state, values,
                  heap->has_unseen ? N_KNOWN_OF_UNSEEN : sizeof(values) / sizeof(values[0]), err);
}

/* A process's snapshot has the process's id. */
static int put_snapshots(const struct query *query, const struct filter_value *value,
                         const struct heap_scan_instant *instant, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf(
        "INSERT INTO temp.snapshots SELECT process_id, process_id, at_ns, %Q FROM"
        " (SELECT p.*, %s AS at_ns FROM processes AS p) WHERE at_ns BETWEEN start_ns AND end_ns",
        value->text, instant->at_sql);
    int rc = sql ? rundb_prepare(&query->database, sql, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc == 0)
        rc = rundb_step(&query->database, stmt, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int fill(const struct query *query, const struct heap_scan_instant *instant,
                struct error *err)
{
    struct tables tables = {.database = &query->database};
    const struct heap_scan_sink sink = {.to = &tables, .page = put_page, .end = put_state};
    int rc = rundb_prepare(&query->database,
                           "INSERT INTO temp.heap_pages VALUES (?1, ?2, 1, ?3, ?4, ?5,"
                           " nullif(?6, -1), ?7, ?8, nullif(?9, -1))",
                           &tables.page, err);

    if (rc == 0)
        rc = rundb_prepare(&query->database,
                           "INSERT INTO temp.heap_states VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                           " ?9, nullif(?10, 0), nullif(?11, 0), ?12, ?13, ?14, ?15)",
                           &tables.state, err);
    if (rc == 0)
        rc = heap_scan_run(&query->database, instant, &sink, err);
    sqlite3_finalize(tables.page);
    sqlite3_finalize(tables.state);
    return rc;
}

static int make_tables(struct query *query, const struct filter_value *value,
                       const struct heap_scan_instant *instant, bool is_filtered, struct error *err)
{
    int rc = rundb_run(&query->database, tables_sql, err);

    if (rc == 0 && query->options->is_sql_shown)
        return filter_sql_show(instant->filter, heap_scan_sql(instant->filter),
                               "the tables of heaps below are", query->out, err);
    if (rc == 0)
        rc = put_snapshots(query, value, instant, err);
    if (rc == 0)
        rc = fill(query, instant, err);
    if (rc == 0)
        rc = rundb_run(&query->database, pins_sql, err);
    return rc == 0 && is_filtered ? rundb_run(&query->database, selected_pins_sql, err) : rc;
}

/* The filters except --at. */
static int install_others(struct query *query, bool *ret_is_filtered, struct error *err)
{
    const struct query_options *asked = query->options;
    struct query_options others = *asked;
    int rc;

    others.filter.n_values = 0;
    for (size_t i = 0; i < asked->filter.n_values; i++) {
        if (!is_instant(&asked->filter.values[i]))
            others.filter.values[others.filter.n_values++] = asked->filter.values[i];
    }
    query->options = &others;
    rc = query_install_filters(query, err);
    query->options = asked;
    *ret_is_filtered = others.filter.n_values > 0;
    return rc;
}

int heap_tables_install(struct query *query, struct error *err)
{
    const struct filter_value *value = filter_instant(&query->options->filter);
    struct filter_sql filter = {0};
    struct heap_scan_instant instant;
    bool is_filtered;
    int rc = install_others(query, &is_filtered, err);

    if (rc != 0 || !value)
        return rc;
    if (value->is_peak || value->is_end)
        return rundb_run(&query->database, value->is_peak ? peak_sql : end_sql, err);
    rc = heap_tables_compile(query, value, &filter, &instant, err);
    if (rc == 0)
        rc = make_tables(query, value, &instant, is_filtered, err);
    filter_sql_done(&filter);
    return rc;
}
