/* SPDX-License-Identifier: MIT */
/* code_tables: writes processes, threads and code as the log defines them, and data about the
 * import. */
#include "importer/totals/statistics.h"
#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "importer/write/table_pages.h"
#include "importer/write/total_tables.h"
#include "lib/base/json_text.h"
#include "lib/logfile/log_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- processes and threads ---- */

/* The arguments as a JSON array; NULL if they are not known or memory is lacking. */
static char *command_line(const struct definitions_process *process)
{
    if (process->n_arguments == 0)
        return NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const char *argument = process->arguments;
    if (!out)
        return NULL;
    for (size_t i = 0; i < process->n_arguments; i++) {
        fputc(i ? ',' : '[', out);
        json_text_put(out, argument);
        argument += strlen(argument) + 1;
    }
    fputc(']', out);
    fclose(out);
    return text;
}

static uint64_t dropped_events(const struct definitions_process *process)
{
    uint64_t n = 0;

    for (int i = 0; i < LOG_DROP_REASONS; i++)
        n += process->dropped[i];
    return n;
}

/* NULL for samples: only frees of blocks sampled in the parent are recorded. */
static uint64_t inherited_frees(const struct statistics *statistics, uint32_t process)
{
    return statistics->definitions->processes[process].sample_bytes
               ? UINT64_MAX
               : pairing_inherited_frees(statistics->pairing, process);
}

static bool has_glibc_heap(const struct heap_ranges *heaps, uint32_t process)
{
    for (size_t id = 1; id <= heap_ranges_count(heaps); id++) {
        const struct heap_range *heap = heap_ranges_get(heaps, (uint32_t)id);
        if (heap->process == process && heap->header_bytes)
            return true;
    }
    return false;
}

/* The allocator of most blocks; NULL: unknown. A library of another allocator may be loaded and not
 * be used, so its blocks count, too. */
static const char *allocator_of(const struct statistics *statistics, uint32_t id)
{
    static const char *const known[] = {"jemalloc", "tcmalloc", "mimalloc"};
    const struct definitions *definitions = statistics->definitions;
    const char *inside = definitions->processes[id].embedded_allocator;

    if (!heap_ranges_has_foreign(statistics->heaps, id))
        return has_glibc_heap(statistics->heaps, id) ? "glibc" : NULL;
    if (inside && *inside)
        return inside;
    for (size_t i = 1; i <= definitions->n_modules; i++) {
        const struct definitions_module *module = &definitions->modules[i];
        const char *slash = module->path ? strrchr(module->path, '/') : NULL;
        if (module->process != id || !slash || strncmp(slash, "/lib", 4) != 0)
            continue;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            if (strncmp(slash + 4, known[k], strlen(known[k])) == 0)
                return known[k];
    }
    return NULL;
}

static int write_processes(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(
        db,
        "INSERT INTO processes (process_id, parent_process_id, pid, architecture, executable, command_line,"
        " start_unix_ns, start_ns, end_ns, end_kind, end_value, peak_bytes, peak_blocks, peak_ns,"
        " max_rss_bytes, inherited_frees, events, events_dropped, sample_bytes, allocator)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &insert, err);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_processes; id++) {
        const struct definitions_process *process = &statistics->definitions->processes[id];
        const struct process_totals *totals = &statistics->totals->processes[id];
        char *arguments = command_line(process);
        char architecture[LOG_HEADER_ARCH_BYTES];
        bool has_ended = statistics_has_ended(statistics, id);
        uint64_t end_value =
            has_ended && process->has_end_value ? (uint64_t)process->end_value : UINT64_MAX;
        const char *end_kind = process->end_kind ? process->end_kind : "unknown";
        code = database_insert(
            insert, err, "uzutttzuutmuumzmuuzt", (uint64_t)id, (uint64_t)process->parent,
            (uint64_t)process->pid,
            log_header_arch_text(process->arch, process->word_bytes, architecture),
            process->executable, arguments, process->start_unix_ns, process->start_ns,
            statistics->processes[id].last_ns, has_ended ? end_kind : "running", end_value,
            totals->peak_bytes, totals->peak_blocks, totals->peak_ns,
            has_ended ? process->max_rss_bytes : 0, inherited_frees(statistics, id),
            statistics->processes[id].n_events, dropped_events(process), process->sample_bytes,
            allocator_of(statistics, id));
        free(arguments);
    }
    sqlite3_finalize(insert);
    return code;
}

static bool thread_is_used(const struct statistics *statistics, uint32_t id)
{
    const struct definitions_thread *thread = &statistics->definitions->threads[id];
    const struct thread_totals *totals = &statistics->totals->threads[id];

    return (!thread->is_unknown && !thread->is_later) || totals->allocated_blocks
           || totals->freed_blocks;
}

static int write_threads(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(
        db, "INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert,
        err);

    for (uint32_t id = 1; code == 0 && id <= statistics->definitions->n_threads; id++) {
        const struct definitions_thread *thread = &statistics->definitions->threads[id];
        const struct thread_totals *totals = &statistics->totals->threads[id];
        if (!thread_is_used(statistics, id))
            continue;
        code = database_insert(
            insert, err, "uuutmmuuuuuuuzz", (uint64_t)id, (uint64_t)thread->process,
            (uint64_t)thread->tid, thread->name, thread->is_unknown ? UINT64_MAX : thread->start_ns,
            thread->has_end ? thread->end_ns : UINT64_MAX, totals->allocated_blocks,
            totals->allocated_bytes, totals->freed_blocks, totals->freed_bytes,
            totals->leaked_blocks, totals->leaked_bytes, totals->peak_bytes, thread->stack_address,
            thread->stack_bytes);
    }
    sqlite3_finalize(insert);
    return code;
}

/* ---- code ---- */

static int write_objects(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO objects VALUES (?, ?, ?, ?, NULL, NULL)", &insert, err);

    for (size_t id = 1; code == 0 && id <= statistics->definitions->n_objects; id++) {
        char architecture[LOG_HEADER_ARCH_BYTES];
        const struct definitions_object *object = &statistics->definitions->objects[id];
        code = database_insert(
            insert, err, "uttt", (uint64_t)id, object->path ? object->path : "", object->build_id,
            log_header_arch_text(object->arch, object->word_bytes, architecture));
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_modules(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO modules VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &insert, err);

    for (size_t id = 1; code == 0 && id <= statistics->definitions->n_modules; id++) {
        const struct definitions_module *module = &statistics->definitions->modules[id];
        code = database_insert(
            insert, err, "uuuuuumt", (uint64_t)id, (uint64_t)module->process,
            (uint64_t)module->object, module->load_address, module->size_bytes, module->seen_ns,
            module->is_unloaded ? module->unloaded_ns : UINT64_MAX, module->path);
    }
    sqlite3_finalize(insert);
    return code;
}

static int write_object_parts(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    const struct definitions *definitions = statistics->definitions;
    sqlite3_stmt *insert = NULL;
    int code = 0;

    if (definitions->n_file_parts)
        code = database_prepare(db, "INSERT INTO object_parts VALUES (?, ?, ?)", &insert, err);
    for (size_t i = 0; code == 0 && i < definitions->n_file_parts; i++) {
        const struct definitions_file_part *part = &definitions->file_parts[i];
        sqlite3_bind_blob64(insert, 3, part->bytes, part->n_bytes, SQLITE_STATIC);
        code = database_insert(insert, err, "ui", (uint64_t)part->object, (int64_t)part->offset);
    }
    sqlite3_finalize(insert);
    return code;
}

static void frame_column(const void *row, int column, sqlite3_context *context)
{
    const struct definitions_frame *frame = row;

    if (column == 0 && frame->object)
        sqlite3_result_int64(context, frame->object);
    else if (column == 1)
        sqlite3_result_int64(context, (sqlite3_int64)frame->offset);
    else if (column == 2)
        sqlite3_result_int64(context, frame->is_exact);
}

static const char *const status_names[] = {
    [DEFINITIONS_COMPLETE] = "complete",
    [DEFINITIONS_TRUNCATED] = "truncated",
    [DEFINITIONS_GUESSED] = "guessed",
};

static int write_frames(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    const struct definitions *definitions = statistics->definitions;
    struct bulk_insert *frames = NULL;
    int code = bulk_insert_open(db, "frames(object_id, object_offset, is_exact)", 3, frame_column,
                                sizeof *definitions->frames, &frames, err);

    if (code == 0)
        code = bulk_insert_rows(frames, definitions->frames + 1, definitions->n_frames, err);
    bulk_insert_close(frames);
    return code;
}

static int write_backtrace(struct page_table *table, const struct definitions *definitions,
                           uint32_t id, uint32_t call_site_id, struct error *err)
{
    const struct definitions_backtrace *backtrace = &definitions->backtraces[id];
    struct page_row row = {
        .values = {id, 0, backtrace->last_descendant, backtrace->frame, backtrace->depth}};

    page_row_put(&row, 1, backtrace->parent, 0);
    page_row_put(&row, 5, call_site_id, 0);
    page_row_put_text(&row, 6, status_names[backtrace->status]);
    return table_pages_add(table, &row, err);
}

int backtrace_rows_write(sqlite3 *db, const struct definitions *definitions,
                         const uint32_t *call_site_ids, struct error *err)
{
    struct table_pages *pages;
    struct page_table *table;
    int code = table_pages_begin(db, &pages, err);

    if (code)
        return code;
    code = table_pages_open(pages, "backtraces", 7, 0, &table, err);
    for (uint32_t id = 1; code == 0 && id <= definitions->n_backtraces; id++)
        code = write_backtrace(table, definitions, id, call_site_ids[id], err);
    if (code == 0)
        code = table_pages_end(pages, err);
    table_pages_free(pages);
    return code;
}

/* Frames without code have a name in the definitions. */
static int write_labels(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    sqlite3_stmt *function = NULL;
    sqlite3_stmt *line = NULL;
    int code = database_prepare(db, "INSERT INTO functions (name, raw_name) VALUES (?, ?)",
                                &function, err);

    if (code == 0)
        code =
            database_prepare(db,
                             "INSERT INTO frame_lines (frame_id, inline_level, function_id) VALUES"
                             " (?, 0, ?)",
                             &line, err);
    for (size_t id = 1; code == 0 && id <= statistics->definitions->n_frames; id++) {
        const char *label = statistics->definitions->frames[id].label;
        if (!label)
            continue;
        code = database_insert(function, err, "tt", label, label);
        if (code == 0)
            code = database_insert(line, err, "uu", (uint64_t)id,
                                   (uint64_t)sqlite3_last_insert_rowid(db));
    }
    sqlite3_finalize(function);
    sqlite3_finalize(line);
    return code;
}

static int write_kinds(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    (void)statistics;
    return database_execute(
        db,
        "INSERT INTO kinds VALUES (0, 'malloc'), (1, 'calloc'), (2, 'realloc'),"
        " (3, 'reallocarray'), (4, 'posix_memalign'), (5, 'aligned_alloc'), (6, 'memalign'),"
        " (7, 'valloc'), (8, 'pvalloc'), (9, 'mallocx'), (10, 'rallocx'), (11, 'new')",
        err);
}

/* ---- meta ---- */

struct meta_writer {
    sqlite3_stmt *insert;
    struct error *err;
    int code; /* first failure */
};

static void meta_number(struct meta_writer *meta, const char *key, uint64_t value)
{
    if (meta->code == 0)
        meta->code = database_insert(meta->insert, meta->err, "tu", key, value);
}

static void meta_text(struct meta_writer *meta, const char *key, const char *value)
{
    if (meta->code == 0)
        meta->code = database_insert(meta->insert, meta->err, "tt", key, value);
}

static void write_anomalies(struct statistics *statistics, struct meta_writer *meta)
{
    const struct pairing_counts *counts = pairing_counts_get(statistics->pairing);

    meta_number(meta, "allocations", counts->allocations);
    meta_number(meta, "anomaly.unknown_free", counts->unknown_frees);
    meta_number(meta, "anomaly.unknown_realloc", counts->unknown_reallocs);
    meta_number(meta, "anomaly.double_allocation", counts->double_allocations);
    meta_number(meta, "anomaly.clock_inversion", counts->clock_inversions);
    meta_number(meta, "frees.untracked", counts->untracked_frees);
}

static void meta_number_if_any(struct meta_writer *meta, const char *key, uint64_t value)
{
    if (value)
        meta_number(meta, key, value);
}

static bool is_reported(const struct definitions *definitions, size_t process)
{
    return !definitions->processes[process].is_left_out;
}

/* Invalid use of the API by the program. */
static void write_misuse(struct statistics *statistics, struct meta_writer *meta)
{
    uint64_t stale_exits = 0;
    uint64_t bad_handles = 0;
    uint64_t refused_groups = 0;

    for (size_t id = 1; id <= statistics->definitions->n_processes; id++) {
        const struct definitions_process *process = &statistics->definitions->processes[id];
        if (process->is_left_out)
            continue;
        stale_exits += process->stale_exits;
        bad_handles += process->bad_handles;
        refused_groups += process->refused_groups;
    }
    meta_number_if_any(meta, "groups.stale_exits", stale_exits);
    meta_number_if_any(meta, "groups.bad_handles", bad_handles);
    meta_number_if_any(meta, "groups.refused", refused_groups);
    meta_number_if_any(meta, "groups.unknown_moves",
                       pairing_counts_get(statistics->pairing)->unknown_moves);
    meta_number_if_any(meta, "phases.unknown_ends", statistics->n_unknown_phase_ends);
    meta_number_if_any(meta, "objects.bad_records", statistics->walks.n_bad);
    meta_number_if_any(meta, "pools.unknown",
                       statistics->n_lost_pool_events
                           + (statistics->pools ? pool_blocks_n_unknown(statistics->pools) : 0));
}

static void write_dropped(struct statistics *statistics, struct meta_writer *meta)
{
    static const char *const names[LOG_DROP_REASONS] = {
        [LOG_DROP_NO_SPACE] = "events.dropped.no_space",
        [LOG_DROP_LIMIT] = "events.dropped.limit",
        [LOG_DROP_NESTED] = "events.dropped.nested",
        [LOG_DROP_NO_MEMORY] = "events.dropped.no_memory",
        [LOG_DROP_NO_ACCESS] = "events.dropped.no_access",
        [LOG_DROP_ABANDONED] = "events.dropped.abandoned",
    };
    uint64_t all = 0;

    for (int reason = 0; reason < LOG_DROP_REASONS; reason++) {
        uint64_t n = 0;
        for (uint32_t id = 1; id <= statistics->definitions->n_processes; id++)
            n += is_reported(statistics->definitions, id)
                     ? statistics->definitions->processes[id].dropped[reason]
                     : 0;
        if (names[reason])
            meta_number(meta, names[reason], n);
        all += n;
    }
    meta_number(meta, "events.dropped", all);
}

static uint64_t count_partial(const struct definitions *definitions)
{
    uint64_t n = 0;

    for (size_t id = 1; id <= definitions->n_processes; id++)
        n += is_reported(definitions, id) && definitions_is_partial(&definitions->processes[id]);
    return n;
}

static void write_of_process(struct meta_writer *meta, const char *name, size_t id, uint64_t n)
{
    char key[64];

    snprintf(key, sizeof key, "%s.%zu", name, id);
    if (n)
        meta_number(meta, key, n);
}

/* Flaws by process, so that a report about one process need not mention those of others. */
static void write_flaws(const struct definitions *definitions, struct meta_writer *meta)
{
    for (size_t id = 1; id <= definitions->n_processes; id++) {
        const struct definitions_process *process = &definitions->processes[id];
        if (process->is_left_out)
            continue;
        write_of_process(meta, "processes.partial", id, definitions_is_partial(process));
        if (!definitions->is_cut) /* some may be later */
            write_of_process(meta, "processes.started", id, process->n_started);
        write_of_process(meta, "modules.unnamed", id, process->n_unreported_modules);
        write_of_process(meta, "unreached.deepbound", id, process->unreached.n_deepbound);
        write_of_process(meta, "unreached.foreign", id, process->unreached.n_foreign);
        write_of_process(meta, "unreached.elsewhere", id, process->unreached.n_elsewhere);
        write_of_process(meta, "unreached.pointers", id, process->unreached.n_pointers);
    }
}

static uint64_t count_unlooked(const struct statistics *statistics)
{
    uint64_t n = 0;

    for (size_t id = 1; id <= statistics->definitions->n_processes; id++)
        n += is_reported(statistics->definitions, id) ? statistics->processes[id].mappings.n_unknown
                                                      : 0;
    return n;
}

static void write_recording(struct statistics *statistics, struct meta_writer *meta)
{
    const struct definitions_process *first = &statistics->definitions->processes[1];
    uint64_t n_reported = 0;
    uint64_t n_events = 0;
    uint64_t log_bytes = 0;
    uint64_t checked = 0;
    uint64_t mismatches = 0;
    uint64_t unreported = 0;
    char architecture[LOG_HEADER_ARCH_BYTES];

    for (uint32_t id = 1; id <= statistics->definitions->n_processes; id++) {
        if (!is_reported(statistics->definitions, id))
            continue;
        n_reported++;
        n_events += statistics->processes[id].n_events;
        log_bytes += statistics->definitions->processes[id].log_bytes;
        checked += statistics->definitions->processes[id].unwind_checked;
        mismatches += statistics->definitions->processes[id].unwind_mismatches;
        unreported += statistics->definitions->processes[id].n_unreported_modules;
    }
    meta_text(meta, "collector.version", first->collector_version);
    if (statistics->definitions->recorder)
        meta_text(meta, "recorder", statistics->definitions->recorder);
    else
        meta_text(meta, "arch", log_header_arch_text(first->arch, first->word_bytes, architecture));
    if (statistics->definitions->has_names)
        meta_text(meta, "names", "recording");
    meta_number(meta, "page_size", statistics->page_bytes[1]);
    meta_text(meta, "clock", first->clock == LOG_CLOCK_TSC ? "tsc" : "monotonic");
    meta_text(meta, "pairing",
              statistics->definitions->has_no_addresses ? "size_and_stack" : "address");
    meta_number(meta, "free_backtraces", (first->flags & LOG_FLAG_FREE_BACKTRACES) != 0);
    meta_number(meta, "processes", n_reported);
    meta_number(meta, "processes.partial", count_partial(statistics->definitions));
    meta_number(meta, "mmaps.unlooked", count_unlooked(statistics));
    meta_number(meta, "nodes", statistics->definitions->n_backtraces);
    meta_number(meta, "log.bytes", log_bytes);
    meta_number(meta, "events",
                n_reported < statistics->definitions->n_processes ? n_events
                                                                  : statistics->n_events);
    meta_number(meta, "unwinder.checked", checked);
    meta_number(meta, "unwinder.mismatches", mismatches);
    meta_number(meta, "modules.unnamed", unreported);
    write_flaws(statistics->definitions, meta);
}

/* Rows for each executable, however many processes ran it, and one for each of these. */
static void write_unseen(const struct definitions *definitions, struct meta_writer *meta)
{
    char key[1024];

    for (size_t id = 1; id <= definitions->n_processes; id++) {
        const struct definitions_process *process = &definitions->processes[id];
        if (process->is_left_out || !process->unseen_allocator || !*process->unseen_allocator)
            continue;
        snprintf(key, sizeof key, "unseen_process.%zu", id);
        meta_number(meta, key, 1);
        snprintf(key, sizeof key, "unseen.%s", process->executable ? process->executable : "?");
        meta_text(meta, key, process->unseen_allocator);
        if (!process->unseen_why || !*process->unseen_why)
            continue;
        snprintf(key, sizeof key, "unseen_why.%s", process->executable ? process->executable : "?");
        meta_text(meta, key, process->unseen_why);
    }
}

static void write_texts(const struct definitions *definitions, struct meta_writer *meta)
{
    char key[64];

    for (size_t i = 0; i < definitions->n_messages; i++) {
        if (!is_reported(definitions, definitions->messages[i].process))
            continue;
        snprintf(key, sizeof key, "message.%04zu", i + 1);
        meta_text(meta, key, definitions->messages[i].text);
    }
    for (size_t i = 0; i < definitions->n_suppressions; i++) {
        snprintf(key, sizeof key, "suppression.%04zu", i + 1);
        meta_text(meta, key, definitions->suppressions[i]);
    }
    for (size_t i = 0; i < definitions->n_settings; i++) {
        const char *text = definitions->settings[i].text;
        const char *equals = strchr(text, '=');
        if (definitions->settings[i].process != 1 || !equals)
            continue;
        snprintf(key, sizeof key, "setting.%.*s", (int)(equals - text), text);
        meta_text(meta, key, equals + 1);
    }
}

static int write_meta(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    struct meta_writer meta = {.err = err};

    meta.code =
        database_prepare(db, "INSERT OR REPLACE INTO meta VALUES (?, ?)", &meta.insert, err);
    meta_text(&meta, "mtrace.version", MTRACE_VERSION);
    meta_number(&meta, "schema.version", 1);
    if (statistics->definitions->n_processes)
        write_recording(statistics, &meta);
    write_anomalies(statistics, &meta);
    meta_number_if_any(&meta, "elided.most_live_bytes",
                       totals_elided_live_bytes(statistics->totals));
    write_misuse(statistics, &meta);
    write_dropped(statistics, &meta);
    write_unseen(statistics->definitions, &meta);
    write_texts(statistics->definitions, &meta);
    sqlite3_finalize(meta.insert);
    return meta.code;
}

int code_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    static int (*const writers[])(sqlite3 * db, struct statistics * statistics,
                                  struct error * err) = {
        write_kinds,        write_processes, write_threads, write_objects, write_modules,
        write_object_parts, write_frames,    write_labels,  write_meta};

    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        int code = writers[i](db, statistics, err);
        if (code)
            return code;
    }
    return 0;
}
