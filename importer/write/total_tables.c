/* SPDX-License-Identifier: MIT */
#include "importer/write/total_tables.h"

#include "importer/totals/facts_parts.h"
#include "importer/totals/heap_pins.h"
#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "lib/totals/report_classes.h"

#include <stdlib.h>

static void result_unless(sqlite3_context *context, uint64_t value, uint64_t null_value)
{
    if (value != null_value)
        sqlite3_result_int64(context, (sqlite3_int64)value);
}

struct row_array {
    const void *rows;
    size_t row_bytes;
    size_t n_rows;
};

/* Writes an array with one bulk_insert. */
static int write_array(sqlite3 *db, const char *into, int n_columns, bulk_column_fn *column,
                       struct row_array array, struct error *err)
{
    struct bulk_insert *bulk;
    int code = bulk_insert_open(db, into, n_columns, column, array.row_bytes, &bulk, err);

    if (code)
        return code;
    code = bulk_insert_rows(bulk, array.rows, array.n_rows, err);
    bulk_insert_close(bulk);
    return code;
}

/* ---- flows ---- */

static void flow_column(const void *row, int column, sqlite3_context *context)
{
    const struct pair_totals_entry *entry = row;
    const uint64_t values[] = {entry->process, entry->from, entry->to, entry->blocks, entry->bytes};

    sqlite3_result_int64(context, (sqlite3_int64)values[column]);
}

static int write_flows(sqlite3 *db, struct statistics *facts, struct error *err)
{
    struct hash_map *flows = &facts->totals->flows;

    pair_totals_sort(flows);
    return write_array(
        db, "thread_flows(process_id, thread_id, free_thread_id, blocks, bytes)", 5, flow_column,
        (struct row_array){flows->elements, sizeof(struct pair_totals_entry), flows->n}, err);
}

/* ---- timeline and classes ---- */

enum {
    TIMELINE_COLUMNS = 19,
    TIMELINE_MARGINS = 5 /* the last of them */
};

static int write_timeline(struct statistics *facts, uint32_t process, sqlite3_stmt *insert,
                          struct error *err)
{
    const struct timeline *timeline = &facts->processes[process].timeline;
    uint64_t last_ns = facts->processes[process].last_ns;
    uint64_t leaked_blocks = 0;
    uint64_t leaked_bytes = 0;
    double leaked_variance = 0;
    bool is_sampled = facts->totals->processes[process].sample_bytes != 0;
    size_t cursor = 0;
    int code = 0;

    sqlite3_clear_bindings(insert); /* of the previous process */
    for (size_t i = 0; code == 0 && i < timeline->n_buckets; i++) {
        const struct timeline_bucket bucket = timeline_read(timeline, i, &cursor);
        uint64_t start_ns = timeline->start_ns + ((uint64_t)i << timeline->shift);
        uint64_t end_ns = start_ns + (UINT64_C(1) << timeline->shift);
        if (end_ns > last_ns && last_ns > start_ns)
            end_ns = last_ns;
        leaked_blocks += bucket.leaked_blocks;
        leaked_bytes += bucket.leaked_bytes;
        leaked_variance += bucket.leaked_variance;
        const double variances[] = {bucket.live_variance, bucket.peak_variance,
                                    bucket.allocated_variance, bucket.freed_variance,
                                    leaked_variance};
        for (int k = 0; is_sampled && k < TIMELINE_MARGINS; k++)
            sqlite3_bind_double(insert, TIMELINE_COLUMNS - TIMELINE_MARGINS + k + 1,
                                sample_weight_margin(variances[k]));
        code =
            database_insert(insert, err, "uuuuuuuuuuuuuu", (uint64_t)process, (uint64_t)i, start_ns,
                            end_ns, bucket.live_bytes, bucket.live_blocks, bucket.peak_bytes,
                            bucket.low_bytes, bucket.allocated_blocks, bucket.allocated_bytes,
                            bucket.freed_blocks, bucket.freed_bytes, leaked_blocks, leaked_bytes);
    }
    return code;
}

static int write_sizes(struct statistics *facts, uint32_t process, sqlite3_stmt *insert,
                       struct error *err)
{
    const struct size_class_totals *sizes = facts->totals->processes[process].sizes;
    int code = 0;

    for (unsigned i = 0; code == 0 && i < facts->totals->processes[process].n_sizes; i++) {
        uint64_t from;
        uint64_t to;
        if (sizes[i].allocated_blocks == 0)
            continue;
        size_class_bounds(i, &from, &to);
        code = database_insert(insert, err, "uuuuuuuuu", (uint64_t)process, from, to,
                               sizes[i].allocated_blocks, sizes[i].allocated_bytes,
                               sizes[i].leaked_blocks, sizes[i].leaked_bytes,
                               sizes[i].temporary_blocks, sizes[i].slack_bytes);
    }
    return code;
}

static int write_lifetimes(struct statistics *facts, uint32_t process, sqlite3_stmt *insert,
                           struct error *err)
{
    const struct lifetime_class_totals *lifetimes = facts->totals->processes[process].lifetimes;
    int code = 0;

    for (unsigned i = 0; code == 0 && lifetimes && i < LIFETIME_CLASSES; i++) {
        uint64_t from;
        uint64_t to;
        if (lifetimes[i].blocks == 0)
            continue;
        lifetime_class_bounds(i, &from, &to);
        code = database_insert(insert, err, "uuuuu", (uint64_t)process, from, to,
                               lifetimes[i].blocks, lifetimes[i].bytes);
    }
    return code;
}

typedef int process_table_fn(struct statistics *facts, uint32_t process, sqlite3_stmt *insert,
                             struct error *err);

static int write_per_process(sqlite3 *db, struct statistics *facts, const char *sql,
                             process_table_fn *write, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, sql, &insert, err);

    for (uint32_t id = 1; code == 0 && id <= facts->definitions->n_processes; id++)
        code = write(facts, id, insert, err);
    sqlite3_finalize(insert);
    return code;
}

/* ---- heaps ---- */

static const char *heap_kind_name(enum log_heap_kind kind)
{
    switch (kind) {
    case LOG_HEAP_BRK:
        return "brk";
    case LOG_HEAP_ARENA:
        return "arena";
    default:
        return "other";
    }
}

static const char *heap_unseen_name(enum heap_unseen unseen)
{
    switch (unseen) {
    case HEAP_INHERITED:
        return "inherited";
    case HEAP_UNTRACKED:
        return "untracked";
    default:
        return NULL;
    }
}

static int write_heaps(sqlite3 *db, struct statistics *facts, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO heaps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    for (uint32_t id = 1; code == 0 && id <= heap_ranges_count(facts->heaps); id++) {
        const struct heap_range *heap = heap_ranges_get(facts->heaps, id);
        code = database_insert(insert, err, "uutuuutzt", (uint64_t)id, (uint64_t)heap->process,
                               heap_kind_name(heap->kind), heap->start, heap->end,
                               heap->lowest_block, heap->header_bytes ? "glibc" : NULL,
                               (uint64_t)heap->header_bytes, heap_unseen_name(heap->unseen));
    }
    sqlite3_finalize(insert);
    return code;
}

/* Of several extents at one time the last one counts. */
static int write_extents(sqlite3 *db, struct statistics *facts, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT OR REPLACE INTO heap_extents VALUES (?, ?, ?)", &insert, err);

    for (size_t i = 0; code == 0 && i < heap_ranges_count_extents(facts->heaps); i++) {
        struct heap_extent extent = heap_ranges_get_extent(facts->heaps, i);
        if (extent.heap_id)
            code = database_insert(insert, err, "uuu", (uint64_t)extent.heap_id, extent.time_ns,
                                   extent.end);
    }
    sqlite3_finalize(insert);
    return code;
}

static uint64_t snapshot_of(const struct statistics *facts, enum facts_moment moment, uint32_t heap)
{
    const struct process_facts *process =
        &facts->processes[heap_ranges_get(facts->heaps, heap)->process];

    return moment == STATISTICS_AT_PEAK ? process->peak_snapshot_id : process->end_snapshot_id;
}

static int write_state(sqlite3_stmt *insert, uint64_t snapshot, uint32_t id,
                       const struct heap_state *state, struct error *err)
{
    return database_insert(
        insert, err, "uuuuuuuuuzzuuuu", snapshot, (uint64_t)id, state->parts.extent_bytes,
        state->parts.live_bytes, state->parts.slack_bytes, state->parts.overhead_bytes,
        state->parts.hole_bytes, state->parts.free_page_bytes, state->parts.top_bytes,
        state->topmost_id, (uint64_t)state->topmost_node, state->pages_to[0], state->pages_to[1],
        state->pages_to[2], state->pages_to[3]);
}

/* With samples, the position of blocks in heaps is not known. */
static bool is_sampled(const struct statistics *facts, uint32_t process)
{
    return facts->definitions->processes[process].sample_bytes != 0;
}

static int write_states(struct statistics *facts, enum facts_moment moment, sqlite3_stmt *insert,
                        struct error *err)
{
    const struct heap_pages *pages = &facts->pages[moment];
    int code = 0;

    for (uint32_t id = 1; code == 0 && id <= pages->n_heaps; id++) {
        const struct heap_state *state = &pages->states[id];
        uint64_t snapshot = snapshot_of(facts, moment, id);
        if (snapshot == 0 || is_sampled(facts, heap_ranges_get(facts->heaps, id)->process))
            continue;
        if (heap_ranges_get(facts->heaps, id)->unseen == HEAP_ALL_SEEN)
            code = write_state(insert, snapshot, id, state, err);
        else
            code = database_insert(insert, err, "uuuuunnnnnnnnnn", snapshot, (uint64_t)id,
                                   state->parts.extent_bytes, state->parts.live_bytes,
                                   state->parts.slack_bytes);
    }
    return code;
}

struct page_row {
    uint64_t snapshot_id;
    const struct heap_page *page;
    bool has_owner;
};

/* Compares in the order of the key. */
static int compare_page_rows(const void *left, const void *right)
{
    const struct page_row *a = left;
    const struct page_row *b = right;

    if (a->snapshot_id != b->snapshot_id)
        return a->snapshot_id < b->snapshot_id ? -1 : 1;
    return (a->page->address > b->page->address) - (a->page->address < b->page->address);
}

static void page_column(const void *row, int column, sqlite3_context *context)
{
    const struct page_row *page_row = row;
    const struct heap_page *page = page_row->page;
    const uint64_t values[] = {
        page_row->snapshot_id,
        page->address,
        page->n_pages,
        page->heap,
        page->live_bytes,
        page->live_blocks,
        page_row->has_owner ? page->owner_node : UINT64_MAX,
        page->example_id,
    };
    result_unless(context, values[column], UINT64_MAX);
}

static int write_pages(sqlite3 *db, struct statistics *facts, enum facts_moment moment,
                       struct error *err)
{
    const struct heap_pages *pages = &facts->pages[moment];
    struct page_row *rows = malloc((pages->n_pages + 1) * sizeof *rows);

    if (!rows)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu heap pages", pages->n_pages);
    for (size_t i = 0; i < pages->n_pages; i++) {
        const struct heap_page *page = &pages->pages[i];
        rows[i].page = page;
        rows[i].snapshot_id = snapshot_of(facts, moment, page->heap);
        rows[i].has_owner = page->common_frames == HEAP_PAGES_ONE_STACK
                            && heap_ranges_get(facts->heaps, page->heap)->unseen == HEAP_ALL_SEEN;
    }
    qsort(rows, pages->n_pages, sizeof *rows, compare_page_rows);
    int code =
        write_array(db,
                    "heap_pages(snapshot_id, page_address, page_count, heap_id, usable_bytes,"
                    " live_blocks, owner_backtrace_id, example_allocation_id)",
                    8, page_column, (struct row_array){rows, sizeof *rows, pages->n_pages}, err);
    free(rows);
    return code;
}

static int write_pins(struct statistics *facts, enum facts_moment moment, sqlite3_stmt *insert,
                      struct error *err)
{
    struct heap_pin *pins;
    size_t n;
    int code = heap_pins_make(&facts->pages[moment], &pins, &n, err);

    for (size_t i = 0; code == 0 && i < n; i++)
        code = database_insert(insert, err, "uuuuuuu", snapshot_of(facts, moment, pins[i].heap),
                               (uint64_t)pins[i].node, (uint64_t)pins[i].common_frames,
                               pins[i].n_pages, pins[i].live_bytes, pins[i].emptiest_bytes,
                               pins[i].example_id);
    free(pins);
    return code;
}

static int write_moments(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                         struct error *err)
{
    sqlite3_stmt *states = NULL;
    sqlite3_stmt *pins = NULL;
    int code = database_prepare(
        db, "INSERT INTO heap_states VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &states,
        err);

    if (code == 0)
        code =
            database_prepare(db, "INSERT INTO heap_pins VALUES (?, ?, ?, ?, ?, ?, ?)", &pins, err);

    for (int moment = 0; code == 0 && moment < STATISTICS_MOMENTS; moment++) {
        code = write_states(facts, (enum facts_moment)moment, states, err);
        if (code == 0 && left_out < LEFT_OUT_MOMENTS)
            code = write_pages(db, facts, (enum facts_moment)moment, err);
        if (code == 0 && left_out < LEFT_OUT_MOMENTS)
            code = write_pins(facts, (enum facts_moment)moment, pins, err);
    }
    sqlite3_finalize(states);
    sqlite3_finalize(pins);
    return code;
}

/* ---- all ---- */

int total_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                       struct error *err)
{
    int code = code_tables_write(db, facts, left_out, err);

    if (code == 0 && left_out < LEFT_OUT_STACKS)
        code = stack_tables_write(db, facts, left_out, err);
    if (code == 0)
        code = write_flows(db, facts, err);
    if (code == 0)
        code = group_tables_write(db, facts, err);
    if (code == 0)
        code = window_rows_write(db, facts, err);
    if (code == 0)
        code = write_per_process(
            db, facts,
            "INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            write_timeline, err);
    if (code == 0)
        code = write_per_process(db, facts,
                                 "INSERT INTO size_classes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                 write_sizes, err);
    if (code == 0)
        code = write_per_process(db, facts, "INSERT INTO lifetime_classes VALUES (?, ?, ?, ?, ?)",
                                 write_lifetimes, err);
    if (code == 0)
        code = write_heaps(db, facts, err);
    if (code == 0)
        code = write_extents(db, facts, err);
    return code ? code : write_moments(db, facts, left_out, err);
}
