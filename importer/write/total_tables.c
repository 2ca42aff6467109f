/* SPDX-License-Identifier: MIT */
#include "importer/write/total_tables.h"

#include "importer/totals/heap_pages.h"
#include "importer/totals/statistics.h"
#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "lib/abi/log_format.h"
#include "lib/totals/report_classes.h"
#include "lib/totals/sample_weight.h"

#include <sqlite3.h>
#include <stdlib.h>

/* ---- groups ---- */

static bool has_account(const struct group_totals *totals, uint32_t number)
{
    const struct group_account *accounts = totals->groups.elements;

    for (size_t i = 0; i < totals->groups.n; i++)
        if (accounts[i].of == number
            && !totals->definitions->processes[accounts[i].process].is_left_out)
            return true;
    return false;
}

static bool is_used(const struct group_totals *totals, uint32_t number)
{
    const struct definitions_group *group = &totals->definitions->groups[number];
    bool is_certain = !group->is_lost && !group->is_left_out && !totals->definitions->is_cut;

    return is_certain || has_account(totals, number);
}

static int write_groups(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct definitions *definitions = totals->definitions;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, "INSERT INTO allocation_groups VALUES (?, ?)", &insert, err);

    if (code == 0)
        code = database_insert(insert, err, "ut", (uint64_t)LOG_GROUP_ROOT, "root");
    for (uint32_t i = 1; code == 0 && i <= definitions->n_groups; i++) {
        const struct definitions_group *group = &definitions->groups[i];
        if (is_used(totals, i))
            code = database_insert(insert, err, "ut", (uint64_t)group->id, group->name);
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_tags(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct definitions *definitions = totals->definitions;
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO allocation_group_tags VALUES (?, ?, ?)", &insert, err);

    for (uint32_t i = 1; code == 0 && i <= definitions->n_groups; i++) {
        const struct definitions_group *group = &definitions->groups[i];
        uint32_t n_tags = is_used(totals, i) ? group->n_tags : 0;
        for (uint32_t k = 0; code == 0 && k < n_tags; k++) {
            const struct definitions_tag *tag =
                &definitions->tags[definitions->group_tags[group->first_tag + k]];
            code = database_insert(insert, err, "utt", (uint64_t)group->id, tag->key, tag->value);
        }
    }
    sqlite3_finalize(insert);
    return code;
}

/* ---- totals of groups and tags ---- */

/* Negative: exact. */
static double margin_of(const struct group_totals *totals, const struct group_account *account,
                        double variance)
{
    return totals->definitions->processes[account->process].sample_bytes
               ? sample_weight_margin(variance)
               : -1;
}

/* The placeholders behind the key: an account of a group has ?2, one of a tag ?3 and ?4. */
#define ACCOUNT_PLACEHOLDERS \
    "?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)"

static int write_accounts(sqlite3 *db, const struct group_totals *totals, bool is_of_tags,
                          struct error *err)
{
    const struct hash_map *map = is_of_tags ? &totals->tags : &totals->groups;
    const struct group_account *accounts = map->elements;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(
        db,
        is_of_tags ? "INSERT INTO tag_totals VALUES (?1, ?3, ?4, " ACCOUNT_PLACEHOLDERS
                   : "INSERT INTO group_totals VALUES (?1, ?2, " ACCOUNT_PLACEHOLDERS,
        &insert, err);

    for (size_t i = 0; code == 0 && i < map->n; i++) {
        const struct group_account *a = &accounts[i];
        const struct definitions_tag *tag =
            is_of_tags ? &totals->definitions->tags[a->of] : &(struct definitions_tag){0};
        uint32_t group = is_of_tags ? 0 : definitions_group_id(totals->definitions, a->of);

        code = database_insert(
            insert, err, "uuttuuuuuuuuuuuuumsss", (uint64_t)a->process, (uint64_t)group, tag->key,
            tag->value, a->allocated_blocks, a->allocated_bytes, a->freed_blocks, a->freed_bytes,
            a->freed_elsewhere_blocks, a->freed_elsewhere_bytes, a->moved_in_blocks,
            a->moved_in_bytes, a->moved_out_blocks, a->moved_out_bytes, a->leaked_blocks,
            a->leaked_bytes, a->peak_bytes, a->peak_bytes ? a->peak_ns : TOTALS_NEVER,
            margin_of(totals, a, a->allocated_variance), margin_of(totals, a, a->leaked_variance),
            margin_of(totals, a, a->peak_variance));
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_account_totals(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    int code = write_accounts(db, totals, false, err);

    return code ? code : write_accounts(db, totals, true, err);
}

static int write_group_flows(sqlite3 *db, const struct group_totals *totals, struct error *err)
{
    const struct pair_totals_entry *flows = totals->flows.elements;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, "INSERT INTO group_flows VALUES (?, ?, ?, ?, ?)", &insert, err);

    for (size_t i = 0; code == 0 && i < totals->flows.n; i++)
        code = database_insert(insert, err, "uuuuu", (uint64_t)flows[i].process,
                               (uint64_t)definitions_group_id(totals->definitions, flows[i].from),
                               (uint64_t)definitions_group_id(totals->definitions, flows[i].to),
                               flows[i].blocks, flows[i].bytes);
    sqlite3_finalize(insert);
    return code;
}

/* ---- phases ---- */

static uint64_t depth_of(const struct phases *phases, const struct phase *phase)
{
    uint64_t depth = 1;

    for (; phase->parent; phase = &phases->list[phase->parent - 1])
        depth++;
    return depth;
}

static int write_phase(sqlite3_stmt *insert, const struct phases *phases, uint32_t process,
                       const struct phase *phase, uint64_t first_id, struct error *err)
{
    bool has_allocations = phase->first_allocation <= phase->last_allocation;

    return database_insert(
        insert, err, "uuzzutumuuuuuuuuumm", first_id + (uint64_t)(phase - phases->list),
        (uint64_t)process, (uint64_t)phase->thread,
        phase->parent ? first_id + phase->parent - 1 : 0, depth_of(phases, phase), phase->name,
        phase->start_ns, phase->is_open ? UINT64_MAX : phase->end_ns, phase->in_it.allocated_blocks,
        phase->in_it.allocated_bytes, phase->in_it.freed_blocks, phase->in_it.freed_bytes,
        phase->at_start.live_bytes, phase->in_it.live_bytes, phase->peak_bytes,
        phase->leaked_blocks, phase->leaked_bytes,
        has_allocations ? phase->first_allocation : UINT64_MAX,
        has_allocations ? phase->last_allocation : UINT64_MAX);
}

static int write_phases(sqlite3 *db, const struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    uint64_t first_id = 1;
    int code = database_prepare(
        db, "INSERT INTO phases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, err);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++) {
        const struct phases *phases = &statistics->processes[id].phases;
        for (size_t i = 0; code == 0 && i < phases->n; i++)
            code = write_phase(insert, phases, id, &phases->list[i], first_id, err);
        first_id += phases->n;
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_phase_totals(sqlite3 *db, const struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, "INSERT INTO phase_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                &insert, err);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++) {
        const struct phases *phases = &statistics->processes[id].phases;
        for (size_t i = 0; code == 0 && i < phases->n_names; i++) {
            const struct phase_name *name = &phases->names[i];
            code = database_insert(insert, err, "utuuuuuuu", (uint64_t)id, phases_name(phases, i),
                                   name->phases, name->ended_ns, name->allocated_blocks,
                                   name->allocated_bytes, name->freed_blocks, name->freed_bytes,
                                   name->peak_bytes);
        }
    }
    sqlite3_finalize(insert);
    return code;
}

/* Groups, tags and phases, and their totals. */
static int write_group_tables(sqlite3 *db, const struct statistics *statistics, struct error *err)
{
    int (*const writers[])(sqlite3 *, const struct group_totals *, struct error *) = {
        write_groups, write_tags, write_account_totals, write_group_flows};
    int code = write_phases(db, statistics, err);

    if (code == 0)
        code = write_phase_totals(db, statistics, err);
    for (size_t i = 0; statistics->groups && code == 0 && i < sizeof writers / sizeof writers[0];
         i++)
        code = writers[i](db, statistics->groups, err);
    return code;
}

/* ---- windows of recording ---- */

/* NULL: not known. */
static const char *switch_name(unsigned by, const char *of_process)
{
    static const char *const names[] = {[LOG_SWITCH_SIGNAL] = "signal",
                                        [LOG_SWITCH_CONTROL] = "control",
                                        [LOG_SWITCH_TIME] = "time",
                                        [LOG_SWITCH_SIZE] = "size",
                                        [LOG_SWITCH_PROGRAM] = "program"};

    if (by == WINDOWS_BY_PROCESS)
        return of_process;
    return by < sizeof names / sizeof *names ? names[by] : NULL;
}

/* Share of the row's time that was recorded. */
static double recorded_share(const struct window *window, uint64_t process_end_ns)
{
    uint64_t end_ns = window->is_open ? process_end_ns : window->end_ns;

    return window->paused_ns && end_ns > window->start_ns + window->paused_ns
               ? 1 - (double)window->paused_ns / (double)(end_ns - window->start_ns)
               : 1;
}

/* NULL: the window is still open, or its end is not known. */
static const char *end_of(const struct statistics *statistics, uint32_t process,
                          const struct window *window)
{
    const struct definitions_process *defined = &statistics->definitions->processes[process];

    if (!window->is_open)
        return switch_name(window->ended_by, NULL);
    return !statistics_has_ended(statistics, process) || definitions_ended_by(defined, "running")
                   || definitions_ended_by(defined, "unseen")
               ? NULL
               : "end";
}

static int write_window(sqlite3_stmt *insert, uint64_t id, uint32_t process,
                        const struct window *window, const struct statistics *statistics,
                        struct error *err)
{
    uint64_t process_end_ns = statistics->processes[process].last_ns;
    bool has_allocations =
        window->first_allocation <= window->last_allocation && window->allocated_blocks;

    return database_insert(insert, err, "uuumttuuuumms", id, (uint64_t)process, window->start_ns,
                           window->is_open ? UINT64_MAX : window->end_ns,
                           switch_name(window->started_by, "start"),
                           end_of(statistics, process, window), window->allocated_blocks,
                           window->allocated_bytes, window->leaked_blocks, window->leaked_bytes,
                           has_allocations ? window->first_allocation : UINT64_MAX,
                           has_allocations ? window->last_allocation : UINT64_MAX,
                           recorded_share(window, process_end_ns));
}

/* Windows of recording. */
static int write_windows(sqlite3 *db, const struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    uint64_t id = 1;
    int code = database_prepare(
        db, "INSERT INTO windows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    for (uint32_t process = 1; code == 0 && process <= statistics->definitions->n_processes;
         process++) {
        const struct windows *windows = &statistics->processes[process].windows;
        for (size_t i = 0; code == 0 && i < windows->n; i++)
            code = write_window(insert, id++, process, &windows->list[i], statistics, err);
    }
    sqlite3_finalize(insert);
    return code;
}

/* ---- totals, timeline and heaps ---- */

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

static int write_flows(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    struct hash_map *flows = &statistics->totals->flows;

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

static int write_timeline(struct statistics *statistics, uint32_t process, sqlite3_stmt *insert,
                          struct error *err)
{
    const struct timeline *timeline = &statistics->processes[process].timeline;
    uint64_t last_ns = statistics->processes[process].last_ns;
    uint64_t leaked_blocks = 0;
    uint64_t leaked_bytes = 0;
    double leaked_variance = 0;
    bool is_sampled = statistics->totals->processes[process].sample_bytes != 0;
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

static int write_sizes(struct statistics *statistics, uint32_t process, sqlite3_stmt *insert,
                       struct error *err)
{
    const struct size_class_totals *sizes = statistics->totals->processes[process].sizes;
    int code = 0;

    for (unsigned i = 0; code == 0 && i < statistics->totals->processes[process].n_sizes; i++) {
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

static int write_lifetimes(struct statistics *statistics, uint32_t process, sqlite3_stmt *insert,
                           struct error *err)
{
    const struct lifetime_class_totals *lifetimes =
        statistics->totals->processes[process].lifetimes;
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

typedef int process_table_fn(struct statistics *statistics, uint32_t process, sqlite3_stmt *insert,
                             struct error *err);

static int write_per_process(sqlite3 *db, struct statistics *statistics, const char *sql,
                             process_table_fn *write, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(db, sql, &insert, err);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++)
        code = write(statistics, id, insert, err);
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

static int write_heaps(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO heaps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    for (uint32_t id = 1; code == 0 && id <= heap_ranges_count(statistics->heaps); id++) {
        const struct heap_range *heap = heap_ranges_get(statistics->heaps, id);
        code = database_insert(insert, err, "uutuuutzt", (uint64_t)id, (uint64_t)heap->process,
                               heap_kind_name(heap->kind), heap->start, heap->end,
                               heap->lowest_block, heap->header_bytes ? "glibc" : NULL,
                               (uint64_t)heap->header_bytes, heap_unseen_name(heap->unseen));
    }
    sqlite3_finalize(insert);
    return code;
}

/* Of several extents at one time the last one counts. */
static int write_extents(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT OR REPLACE INTO heap_extents VALUES (?, ?, ?)", &insert, err);

    for (size_t i = 0; code == 0 && i < heap_ranges_count_extents(statistics->heaps); i++) {
        struct heap_extent extent = heap_ranges_get_extent(statistics->heaps, i);
        if (extent.heap_id)
            code = database_insert(insert, err, "uuu", (uint64_t)extent.heap_id, extent.time_ns,
                                   extent.end);
    }
    sqlite3_finalize(insert);
    return code;
}

static uint64_t snapshot_of(const struct statistics *statistics, enum statistics_moment moment,
                            uint32_t heap)
{
    const struct process_statistics *process =
        &statistics->processes[heap_ranges_get(statistics->heaps, heap)->process];

    return moment == STATISTICS_AT_PEAK ? process->peak_snapshot_id : process->end_snapshot_id;
}

static int write_state(sqlite3_stmt *insert, uint64_t snapshot, uint32_t id,
                       const struct heap_state *state, struct error *err)
{
    return database_insert(
        insert, err, "uuuuuuuuuzzuuuu", snapshot, (uint64_t)id, state->parts.extent_bytes,
        state->parts.live_bytes, state->parts.slack_bytes, state->parts.overhead_bytes,
        state->parts.hole_bytes, state->parts.free_page_bytes, state->parts.top_bytes,
        state->topmost_id, (uint64_t)state->topmost_backtrace, state->pages_to[0],
        state->pages_to[1], state->pages_to[2], state->pages_to[3]);
}

/* With samples, the position of blocks in heaps is not known. */
static bool is_sampled(const struct statistics *statistics, uint32_t process)
{
    return statistics->definitions->processes[process].sample_bytes != 0;
}

static int write_states(struct statistics *statistics, enum statistics_moment moment,
                        sqlite3_stmt *insert, struct error *err)
{
    const struct heap_pages *pages = &statistics->pages[moment];
    int code = 0;

    for (uint32_t id = 1; code == 0 && id <= pages->n_heaps; id++) {
        const struct heap_state *state = &pages->states[id];
        uint64_t snapshot = snapshot_of(statistics, moment, id);
        if (snapshot == 0
            || is_sampled(statistics, heap_ranges_get(statistics->heaps, id)->process))
            continue;
        if (heap_ranges_get(statistics->heaps, id)->unseen == HEAP_ALL_SEEN)
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
        page_row->has_owner ? page->owner_backtrace : UINT64_MAX,
        page->example_id,
    };
    result_unless(context, values[column], UINT64_MAX);
}

static int write_pages(sqlite3 *db, struct statistics *statistics, enum statistics_moment moment,
                       struct error *err)
{
    const struct heap_pages *pages = &statistics->pages[moment];
    struct page_row *rows = malloc((pages->n_pages + 1) * sizeof *rows);

    if (!rows)
        return error_set(err, ERROR_NOMEM, "out of memory for %zu heap pages", pages->n_pages);
    for (size_t i = 0; i < pages->n_pages; i++) {
        const struct heap_page *page = &pages->pages[i];
        rows[i].page = page;
        rows[i].snapshot_id = snapshot_of(statistics, moment, page->heap);
        rows[i].has_owner =
            page->common_frames == HEAP_PAGES_ONE_STACK
            && heap_ranges_get(statistics->heaps, page->heap)->unseen == HEAP_ALL_SEEN;
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

static int write_pins(struct statistics *statistics, enum statistics_moment moment,
                      sqlite3_stmt *insert, struct error *err)
{
    struct heap_pin *pins;
    size_t n;
    int code = heap_pages_make_pins(&statistics->pages[moment], &pins, &n, err);

    for (size_t i = 0; code == 0 && i < n; i++)
        code = database_insert(
            insert, err, "uuuuuuu", snapshot_of(statistics, moment, pins[i].heap),
            (uint64_t)pins[i].backtrace, (uint64_t)pins[i].common_frames, pins[i].n_pages,
            pins[i].live_bytes, pins[i].emptiest_bytes, pins[i].example_id);
    free(pins);
    return code;
}

static int write_moments(sqlite3 *db, struct statistics *statistics, struct error *err)
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
        code = write_states(statistics, (enum statistics_moment)moment, states, err);
        if (code == 0)
            code = write_pages(db, statistics, (enum statistics_moment)moment, err);
        if (code == 0)
            code = write_pins(statistics, (enum statistics_moment)moment, pins, err);
    }
    sqlite3_finalize(states);
    sqlite3_finalize(pins);
    return code;
}

/* ---- all ---- */

int total_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    int code = code_tables_write(db, statistics, err);

    if (code == 0)
        code = stack_tables_write(db, statistics, err);
    if (code == 0)
        code = write_flows(db, statistics, err);
    if (code == 0)
        code = write_group_tables(db, statistics, err);
    if (code == 0)
        code = write_windows(db, statistics, err);
    if (code == 0)
        code = write_per_process(
            db, statistics,
            "INSERT INTO timeline VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            write_timeline, err);
    if (code == 0)
        code = write_per_process(db, statistics,
                                 "INSERT INTO size_classes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                 write_sizes, err);
    if (code == 0)
        code =
            write_per_process(db, statistics, "INSERT INTO lifetime_classes VALUES (?, ?, ?, ?, ?)",
                              write_lifetimes, err);
    if (code == 0)
        code = write_heaps(db, statistics, err);
    if (code == 0)
        code = write_extents(db, statistics, err);
    return code ? code : write_moments(db, statistics, err);
}
