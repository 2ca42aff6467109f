/* SPDX-License-Identifier: MIT */
#include "queries/filter/phase_rows.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/lower_bound.h"
#include "lib/base/saturating.h"
#include "queries/db/rundb.h"
#include "queries/filter/expiry_heap.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"

#include <stdlib.h>

struct numbers { /* counters of a process since its start */
    int64_t allocated_blocks, allocated_bytes;
    int64_t freed_blocks, freed_bytes;
    int64_t leaked_blocks, leaked_bytes;
    int64_t live_bytes; /* now */
};

struct phase {
    int64_t phase_id;
    struct numbers at_start, at_end;
    size_t first_window;
    int64_t peak_bytes;
};

struct bound {
    uint32_t process;
    bool is_end;
    int64_t at_ns;   /* INT64_MAX: at the end of the process */
    int64_t next_id; /* of the first allocation after it; INT64_MAX: unknown */
    size_t phase;    /* index */
};

/* The highest sum of live bytes between two bounds. */
struct window {
    size_t number;
    int64_t peak_bytes;
};

struct way { /* of one process through its bounds */
    struct numbers now;
    int64_t changed_ns, window_peak;
    size_t next_bound, end_bound;
    size_t n_windows;
    struct window *highest; /* of the windows so far, without those that a later one exceeds */
    size_t n_highest, highest_capacity;
};

struct sweep {
    const struct rundb *database;
    struct way *ways; /* by process */
    size_t n_processes;
    struct phase *phases;
    size_t n_phases, phases_capacity;
    struct bound *bounds; /* by process, in the order of time */
    size_t n_bounds, bounds_capacity;
    struct expiry_heap frees;
    bool is_out_of_memory;
};

/* ---- bounds ---- */

static bool add_bound(struct sweep *sweep, const struct bound *bound)
{
    struct bound *bounds = dynamic_array_reserve(sweep->bounds, &sweep->bounds_capacity,
                                                 sweep->n_bounds + 1, sizeof(*bounds));

    if (!bounds)
        return false;
    sweep->bounds = bounds;
    bounds[sweep->n_bounds++] = *bound;
    return true;
}

static int64_t number_or(struct sqlite3_stmt *row, int column, int64_t otherwise)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? otherwise
                                                           : sqlite3_column_int64(row, column);
}

static bool add_phase(struct sweep *sweep, struct sqlite3_stmt *row)
{
    struct phase *phases = dynamic_array_reserve(sweep->phases, &sweep->phases_capacity,
                                                 sweep->n_phases + 1, sizeof(*phases));
    int64_t last_id = number_or(row, 5, INT64_MAX);
    struct bound start = {.process = (uint32_t)database_id(row, 1, sweep->n_processes),
                          .at_ns = sqlite3_column_int64(row, 2),
                          .next_id = number_or(row, 4, INT64_MAX),
                          .phase = sweep->n_phases};
    struct bound end = {.process = start.process,
                        .is_end = true,
                        .at_ns = number_or(row, 3, INT64_MAX),
                        .next_id = saturating_add(last_id, 1),
                        .phase = sweep->n_phases};

    if (!phases)
        return false;
    sweep->phases = phases;
    phases[sweep->n_phases++] = (struct phase){.phase_id = sqlite3_column_int64(row, 0)};
    if (end.at_ns == INT64_MAX)
        end.next_id = INT64_MAX;
    return add_bound(sweep, &start) && add_bound(sweep, &end);
}

static int read_phases(struct sweep *sweep, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(sweep->database,
                           "SELECT phase_id, process_id, start_ns, end_ns, first_allocation_id,"
                           " last_allocation_id FROM main.phases ORDER BY phase_id",
                           &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(sweep->database, stmt, err)) == 1) {
        if (!add_phase(sweep, stmt)) {
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu phases", sweep->n_phases);
            break;
        }
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_bounds(const void *left, const void *right)
{
    const struct bound *a = left;
    const struct bound *b = right;
    int order = compare(a->process, b->process);

    if (order == 0)
        order = compare(a->at_ns, b->at_ns);
    if (order == 0)
        order = compare(a->next_id, b->next_id);
    if (order == 0)
        order = compare((int64_t)a->phase, (int64_t)b->phase);
    return order ? order : compare(a->is_end, b->is_end);
}

static void sort_bounds(struct sweep *sweep)
{
    if (sweep->n_bounds > 0)
        qsort(sweep->bounds, sweep->n_bounds, sizeof(*sweep->bounds), compare_bounds);
    for (size_t i = 0; i < sweep->n_bounds; i++) {
        struct way *way = &sweep->ways[sweep->bounds[i].process];

        if (way->end_bound == 0)
            way->next_bound = i;
        way->end_bound = i + 1;
    }
}

/* ---- windows ---- */

static bool close_window(struct way *way)
{
    struct window *highest = dynamic_array_reserve(way->highest, &way->highest_capacity,
                                                   way->n_highest + 1, sizeof(*highest));

    if (!highest)
        return false;
    way->highest = highest;
    if (way->now.live_bytes > way->window_peak)
        way->window_peak = way->now.live_bytes;
    while (way->n_highest > 0 && highest[way->n_highest - 1].peak_bytes <= way->window_peak)
        way->n_highest--;
    highest[way->n_highest++] = (struct window){way->n_windows++, way->window_peak};
    way->window_peak = way->now.live_bytes;
    return true;
}

/* Peaks decrease: the first window from there on is the highest. */
static int64_t highest_since(const struct way *way, size_t number)
{
    size_t i;

    LOWER_BOUND(i, way->n_highest, way->highest[i].number < number);
    return i < way->n_highest ? way->highest[i].peak_bytes : 0;
}

/* ---- time ---- */

static void pass(struct sweep *sweep, struct way *way)
{
    const struct bound *bound = &sweep->bounds[way->next_bound++];
    struct phase *phase = &sweep->phases[bound->phase];

    if (!close_window(way)) {
        sweep->is_out_of_memory = true;
        return;
    }
    if (bound->is_end) {
        phase->at_end = way->now;
        phase->peak_bytes = highest_since(way, phase->first_window);
    } else {
        phase->at_start = way->now;
        phase->first_window = way->n_windows;
    }
}

static const struct bound *bound_ahead(const struct sweep *sweep, const struct way *way)
{
    return way->next_bound < way->end_bound ? &sweep->bounds[way->next_bound] : NULL;
}

/* Events of the same time are one step: peaks count when the time advances. */
static void advance(struct way *way, int64_t now_ns)
{
    if (now_ns != way->changed_ns && way->now.live_bytes > way->window_peak)
        way->window_peak = way->now.live_bytes;
    way->changed_ns = now_ns;
}

static void end_until(struct sweep *sweep, int64_t at_ns)
{
    struct free_event free_event;

    while (expiry_heap_pop(&sweep->frees, at_ns, &free_event)) {
        struct way *way = &sweep->ways[free_event.of];

        for (const struct bound *bound;
             (bound = bound_ahead(sweep, way)) && bound->at_ns < free_event.at_ns;)
            pass(sweep, way);
        advance(way, free_event.at_ns);
        way->now.freed_blocks += free_event.blocks;
        saturating_grow(&way->now.freed_bytes, free_event.bytes);
        saturating_grow(&way->now.live_bytes, -free_event.bytes);
    }
}

static bool is_before(const struct bound *bound, const struct scanned_row *row)
{
    return bound->next_id == INT64_MAX ? bound->at_ns < row->alloc_ns
                                       : bound->next_id <= row->allocation_id;
}

static bool take_row(struct sweep *sweep, const struct scanned_row *row)
{
    struct way *way = &sweep->ways[row->process];
    int64_t end_ns = row_feed_end_ns(row);

    end_until(sweep, row->alloc_ns);
    for (const struct bound *bound; (bound = bound_ahead(sweep, way)) && is_before(bound, row);)
        pass(sweep, way);
    advance(way, row->alloc_ns);
    way->now.allocated_blocks += row->blocks;
    saturating_grow(&way->now.allocated_bytes, row->bytes);
    saturating_grow(&way->now.live_bytes, row->bytes);
    if (row->ended_by == ROW_FEED_LEAKED) {
        way->now.leaked_blocks += row->blocks;
        saturating_grow(&way->now.leaked_bytes, row->bytes);
    }
    return !sweep->is_out_of_memory
           && (end_ns == INT64_MAX
               || expiry_heap_push(
                   &sweep->frees,
                   (struct free_event){end_ns, row->blocks, row->bytes, row->process, 0}));
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!take_row(context, &rows[i]))
            return false;
    }
    return true;
}

static void finish(struct sweep *sweep)
{
    end_until(sweep, INT64_MAX);
    for (size_t id = 0; id < sweep->n_processes; id++) {
        while (bound_ahead(sweep, &sweep->ways[id]))
            pass(sweep, &sweep->ways[id]);
    }
}

/* ---- the table ---- */

static const char table_sql[] =
    "CREATE TEMP TABLE _phase_figures(phase_id INTEGER PRIMARY KEY, allocated_blocks INTEGER,"
    " allocated_bytes INTEGER, freed_blocks INTEGER, freed_bytes INTEGER, live_start_bytes"
    " INTEGER, live_end_bytes INTEGER, peak_bytes INTEGER, leaked_blocks INTEGER, leaked_bytes"
    " INTEGER);"
    "CREATE TEMP VIEW phases AS SELECT p.phase_id, p.process_id, p.thread_id, p.parent_phase_id,"
    " p.depth, p.name, p.start_ns, p.end_ns, f.allocated_blocks, f.allocated_bytes,"
    " f.freed_blocks, f.freed_bytes, f.live_start_bytes, f.live_end_bytes, f.peak_bytes,"
    " f.leaked_blocks, f.leaked_bytes, p.first_allocation_id, p.last_allocation_id"
    " FROM main.phases AS p LEFT JOIN temp._phase_figures AS f ON f.phase_id = p.phase_id;";

static int put_phase(const struct rundb *database, struct sqlite3_stmt *insert,
                     const struct phase *phase, struct error *err)
{
    const struct numbers *from = &phase->at_start;
    const struct numbers *to = &phase->at_end;
    const int64_t values[] = {phase->phase_id,
                              saturating_subtract(to->allocated_blocks, from->allocated_blocks),
                              saturating_subtract(to->allocated_bytes, from->allocated_bytes),
                              saturating_subtract(to->freed_blocks, from->freed_blocks),
                              saturating_subtract(to->freed_bytes, from->freed_bytes),
                              from->live_bytes,
                              to->live_bytes,
                              phase->peak_bytes,
                              saturating_subtract(to->leaked_blocks, from->leaked_blocks),
                              saturating_subtract(to->leaked_bytes, from->leaked_bytes)};

    return rundb_insert(database, insert, values, sizeof(values) / sizeof(values[0]), err);
}

static int put_table(const struct sweep *sweep, struct rundb *database, struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, table_sql, err);

    if (rc == 0)
        rc = rundb_prepare(
            database,
            "INSERT INTO temp._phase_figures VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            &insert, err);
    for (size_t i = 0; rc == 0 && i < sweep->n_phases; i++)
        rc = put_phase(database, insert, &sweep->phases[i], err);
    sqlite3_finalize(insert);
    return rc;
}

static int make(struct sweep *sweep, const struct row_feed *scan, const struct filter_sql *filter,
                struct error *err)
{
    int rc;

    sweep->n_processes = scan->n_processes;
    sweep->ways = calloc(sweep->n_processes, sizeof(*sweep->ways));
    if (!sweep->ways)
        return error_set(err, ERROR_NOMEM, "no memory for %zu processes", sweep->n_processes);
    rc = read_phases(sweep, err);
    if (rc != 0)
        return rc;
    sort_bounds(sweep);
    rc = row_feed_run_whole(scan, filter, take, sweep, err);
    if (rc == 0)
        finish(sweep);
    return rc == 0 && sweep->is_out_of_memory
               ? error_set(err, ERROR_NOMEM, "no memory for %zu phases", sweep->n_phases)
               : rc;
}

int phase_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct sweep sweep = {.database = database};
    struct row_feed scan;
    int rc = row_feed_init(&scan, database, err);

    if (rc == 0)
        rc = make(&sweep, &scan, filter, err);
    if (rc == 0)
        rc = put_table(&sweep, database, err);
    for (size_t id = 0; sweep.ways && id < sweep.n_processes; id++)
        free(sweep.ways[id].highest);
    free(sweep.ways);
    free(sweep.phases);
    free(sweep.bounds);
    expiry_heap_done(&sweep.frees);
    row_feed_done(&scan);
    return rc;
}
