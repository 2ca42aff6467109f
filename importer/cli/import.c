/* SPDX-License-Identifier: MIT */
#include "importer/cli/import.h"

#include "importer/image/heap_images.h"
#include "importer/read/event_queue.h"
#include "importer/symbols/call_sites.h"
#include "importer/symbols/embedded_symbols.h"
#include "importer/symbols/site_tables.h"
#include "importer/write/process_filter.h"
#include "importer/write/row_writer.h"
#include "importer/write/stack_index.h"
#include "importer/write/total_tables.h"
#include "lib/abi/attr.h"
#include "lib/base/monotonic.h"
#include "lib/base/utf8.h"
#include "lib/logfile/log_rotation.h"
#include "lib/sqlite/database_guard.h"
#include "lib/totals/function_totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DATABASE_BYTES_PER_EVENT = 28, /* half of a row and of what pass 1 spools; and totals */
    SPILL_BYTES_PER_EVENT = 12,
    DATABASE_BYTES_PER_ROW = 48, /* with everything that belongs to it */
    INDEX_BYTES_PER_ROW = 24,    /* temporary and permanent */
    MIN_BYTES = 1 << 20,
};

/* ---- pass 1 ---- */

struct sample_sink {
    struct statistics *statistics;
    struct error *err;
};

static int on_sample(void *context, const struct sample *sample)
{
    const struct sample_sink *sink = context;

    switch (sample->kind) {
    case LOG_SAMPLE_MEMORY:
        return statistics_memory_sample(sink->statistics, sample->process, sample->time_ns,
                                        sample->a, sample->b, sample->c, sink->err);
    case LOG_SAMPLE_OWN:
        statistics_own_sample(sink->statistics, sample->process, sample->a, sample->b);
        return 0;
    case LOG_SAMPLE_HEAP:
        return statistics_heap_sample(sink->statistics, sample->process, sample->time_ns, sample->a,
                                      sample->b, (enum log_heap_kind)sample->c, sink->err);
    case LOG_SAMPLE_MAPPING:
        statistics_mapping_sample(sink->statistics, sample->process, sample->time_ns, sample->a,
                                  sample->b, sample->c);
        return 0;
    case LOG_SAMPLE_PRIVATE:
    case LOG_SAMPLE_MODULE_DATA:
    case LOG_SAMPLE_NOT_DUMPED:
        return statistics_private_sample(
            sink->statistics, sample->process, sample->time_ns, sample->kind,
            &(struct address_range){sample->a, sample->b}, sample->c, sink->err);
    case LOG_SAMPLE_PARTS:
        statistics_parts_sample(sink->statistics, sample->process, sample->a, sample->b, sample->c);
        return 0;
    default:
        return 0;
    }
}

static int read_samples(struct import *import, struct sample_stream *samples, uint32_t process,
                        uint64_t until_ns, struct error *err)
{
    struct sample_sink sink = {import->statistics, err};

    return sample_stream_read(samples, process, until_ns, on_sample, &sink, err);
}

/* MTRACE_HOT: the compiler would optimize the loop of a function that is called once for size. */
static MTRACE_HOT int take_batch(struct import *import, struct sample_stream *samples,
                                 const struct event_batch *batch, struct error *err)
{
    uint32_t process = 0;
    uint64_t due_ns = 0; /* time of its next sample */
    int code = 0;

    for (size_t i = 0; code == 0 && i < batch->n_events; i++) {
        const struct event *event = &batch->events[i];
        if (mtrace_unlikely(event->process != process || due_ns <= event->time_ns)) {
            process = event->process;
            if (sample_stream_time(samples, process) <= event->time_ns)
                code = read_samples(import, samples, process, event->time_ns, err);
            due_ns = sample_stream_time(samples, process);
        }
        if (code == 0)
            code = statistics_event(import->statistics, event, err);
        statistics_prefetch(import->statistics, event, batch->n_events - i);
    }
    return code;
}

static int read_events(struct import *import, struct event_queue *events,
                       struct sample_stream *samples, struct error *err)
{
    uint64_t n_total = log_set_estimated_events(import->logs);
    const struct event_batch *batch;
    uint64_t n_done = 0;
    int more;
    int code = 0;

    while (code == 0 && (more = event_queue_next(events, &batch, err)) != 0) {
        if (more < 0)
            return more;
        n_done += batch->n_events;
        code = take_batch(import, samples, batch, err);
        if (code == 0)
            code = progress_update(import->progress, n_done, n_total, err);
    }
    return code;
}

int import_read(struct import *import, uint64_t mark, struct error *err)
{
    size_t n_processes = log_set_definitions(import->logs)->n_processes;
    struct event_queue *events = NULL;
    struct sample_stream *samples = NULL;
    int code = event_queue_open(import->logs, import->stream, mark, &events, err);

    if (code == 0)
        code = sample_stream_open(import->logs, import->samples, &samples, err);
    if (code == 0)
        code = read_events(import, events, samples, err);
    for (uint32_t id = 1; code == 0 && id <= n_processes; id++) {
        if (mark == UINT64_MAX)
            code = read_samples(import, samples, id, UINT64_MAX, err);
        else if (import->stream) /* their frames may be removed */
            code = read_samples(import, samples, id, mark >> CLOCK_MAP_FRACTION_BITS, err);
        if (import->samples)
            import->samples[id - 1] = sample_stream_place(samples, id);
    }
    sample_stream_close(samples);
    event_queue_close(events);
    return code;
}

/* NULL: no rows of blocks are wanted. */
static const struct definitions *definitions_for_rows(const struct import *import)
{
    return import->options->slim ? NULL : log_set_definitions(import->logs);
}

static int pass_1(struct import *import, struct error *err)
{
    progress_begin(import->progress, "reading", "events");
    struct row_sink sink = event_rows_sink(import->rows, definitions_for_rows(import));
    int code = import_read(import, UINT64_MAX, err);

    if (import->options->files_lock)
        log_rotation_unlock(*import->options->files_lock);

    if (code == 0 && import->kept)
        code = row_spool_emit(import->kept, &sink, &import->ids, err);
    if (code == 0 && import->options->is_aggregate)
        statistics_keep_leaked(import->statistics);
    if (code == 0)
        code = statistics_finish(import->statistics, err);
    if (code == 0 && import->kept)
        code = statistics_renumber(import->statistics, &import->ids, err);
    if (code == 0)
        progress_end(import->progress, statistics_n_events(import->statistics));
    return code;
}

static int pass_2(struct import *import, struct error *err)
{
    progress_begin(import->progress, "writing", "allocations");
    sqlite3 *db = database_sqlite(import->database);
    int code =
        row_writer_write_all(db, import->statistics, import->options->slim, import->progress, err);

    if (code == 0)
        code = total_tables_write(db, import->statistics, err);
    if (code == 0)
        code = pool_tables_write(db, import->statistics, import->options->slim, err);
    if (code == 0)
        code = object_tables_write(db, import->statistics, err);
    if (code == 0)
        progress_end(import->progress, statistics_n_allocations(import->statistics));
    return code;
}

/* ---- symbols and views ---- */

static int put_meta_seconds(sqlite3 *db, const char *key, double seconds, struct error *err)
{
    char sql[128];

    snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO meta VALUES ('%s', %.3f)", key, seconds);
    return database_execute(db, sql, err);
}

static int write_symbols(sqlite3 *db, const struct symbols_options *options,
                         struct progress *progress, struct error *err)
{
    struct symbols_options own = *options;
    uint64_t began_ns = monotonic_now_ns();

    own.progress = progress;
    progress_begin(progress, "symbols", "positions");
    int code = symbols_write(db, &own, err);
    if (code == 0)
        progress_end(progress, 0);
    if (code == 0)
        code = put_meta_seconds(db, "symbols.seconds",
                                (double)(monotonic_now_ns() - began_ns) / 1e9, err);
    return code;
}

/* Every frame has a level, also without symbols. */
static int write_no_symbols(sqlite3 *db, struct error *err)
{
    return database_execute(
        db,
        "INSERT OR IGNORE INTO frame_lines (frame_id, inline_level) SELECT frame_id, 0 FROM frames",
        err);
}

static int write_names(struct import *import, sqlite3 *db, struct error *err)
{
    const struct definitions *definitions = log_set_definitions(import->logs);

    if (import->options->no_symbols)
        return write_no_symbols(db, err);
    if (definitions->has_names)
        return embedded_symbols_write(db, definitions, err);
    return write_symbols(db, &import->options->symbols, import->progress, err);
}

/* Writes the tables that need call sites. */
static int write_sites(struct import *import, sqlite3 *db, struct error *err)
{
    struct site_of_stack sites = {0};
    int code = call_sites_write(db, log_set_definitions(import->logs), &sites, err);

    if (code == 0)
        code = function_totals_write(db, err);
    if (code == 0)
        code = site_tables_write(db, &sites, err);
    free(sites.ids);
    return code;
}

/* Counts modules without names because the file is missing or differs: their note begins with the
 * path. */
static int take_nameless(sqlite3 *db, struct import_result *result, struct error *err)
{
    sqlite3_stmt *select = NULL;
    int code = database_prepare(
        db,
        "SELECT count(*), min(path) FROM objects WHERE debug_note GLOB '''*'"
        " AND object_id IN (SELECT object_id FROM frames)"
        " AND object_id NOT IN (SELECT f.object_id FROM frames AS f JOIN frame_lines AS l USING (frame_id)"
        " WHERE f.object_id IS NOT NULL AND l.function_id IS NOT NULL)",
        &select, err);

    if (code == 0 && sqlite3_step(select) == SQLITE_ROW) {
        const char *path = (const char *)sqlite3_column_text(select, 1);
        result->n_nameless = (uint64_t)sqlite3_column_int64(select, 0);
        snprintf(result->nameless_path, sizeof result->nameless_path, "%s", path ? path : "");
        utf8_clean(result->nameless_path);
    }
    sqlite3_finalize(select);
    return code;
}

static int write_names_and_sites(struct import *import, sqlite3 *db, struct import_result *result,
                                 struct error *err)
{
    int code = write_names(import, db, err);

    if (code == 0 && !import->options->no_symbols)
        code = take_nameless(db, result, err);
    return code ? code : write_sites(import, db, err);
}

/* ---- what was wrong with the logs ---- */

static void describe_damage(const struct log_damage_report *report, char *text, size_t text_bytes)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < report->n_kept; i++) {
        const struct log_damage *damage = &report->kept[i];
        int n = snprintf(text + length, text_bytes - length, "%s'%s' at byte %" PRIu64 ": %s",
                         length ? "\n" : "", damage->path, damage->offset, damage->what);
        if (n < 0 || (size_t)n >= text_bytes - length) {
            text[length] = '\0'; /* whole lines only */
            return;
        }
        length += (size_t)n;
    }
}

static int write_left_out_kind(sqlite3_stmt *insert, const char *name, uint64_t n,
                               struct error *err)
{
    char key[64];

    snprintf(key, sizeof key, "aggregate.left_out.%s", name);
    return n ? database_insert(insert, err, "tu", key, n) : 0;
}

/* Notes which thread rows stand for several threads; for every log. */
static int write_joined_threads(sqlite3_stmt *insert, const struct import *import,
                                struct error *err)
{
    const struct definitions *definitions = log_set_definitions(import->logs);
    int code = 0;

    for (size_t id = 1; code == 0 && id <= definitions->n_processes; id++) {
        uint64_t n = definitions->processes[id].n_joined_threads;
        char key[64];
        snprintf(key, sizeof key, "threads.joined.%zu", id);
        code = n && !definitions->processes[id].is_left_out
                   ? database_insert(insert, err, "tu", key, n)
                   : 0;
    }
    return code;
}

/* Notes what a bounded log omits because of its limits. */
static int write_left_out(sqlite3_stmt *insert, const struct import *import, struct error *err)
{
    const char *name;
    int code = 0;

    for (unsigned kind = 0; code == 0 && kind < STATISTICS_BOUNDED_KINDS; kind++) {
        uint64_t n =
            statistics_n_left_out(import->statistics, (enum statistics_bounded)kind, &name);
        code = write_left_out_kind(insert, name, n, err);
    }
    for (unsigned kind = 0; import->kept && code == 0 && kind < ROW_SPOOL_KINDS; kind++) {
        uint64_t n = row_spool_n_left_out(import->kept, kind, &name);
        code = write_left_out_kind(insert, name, n, err);
    }
    return code;
}

/* Stores the options of the import. */
static int write_options_meta(sqlite3_stmt *insert, const struct import *import, struct error *err)
{
    const struct import_options *options = import->options;
    int code = database_insert(insert, err, "tu", "slim", (uint64_t)options->slim);

    if (code == 0 && options->is_aggregate)
        code = database_insert(insert, err, "tu", "aggregate", (uint64_t)1);
    if (code == 0 && options->is_early)
        code = database_insert(insert, err, "tu", "early", (uint64_t)1);
    if (code == 0 && options->until_ns && log_set_has_later(import->logs))
        code = database_insert(insert, err, "tu", "import.until_ns", options->until_ns);
    if (code == 0 && options->until_marker)
        code = database_insert(insert, err, "tt", "import.until_marker", options->until_marker);
    return code;
}

static int write_log_meta(sqlite3 *db, const struct import *import,
                          const struct import_result *result, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    char key[64];
    int code = database_prepare(db, "INSERT OR REPLACE INTO meta VALUES (?, ?)", &insert, err);

    if (code == 0)
        code = write_options_meta(insert, import, err);
    if (code == 0)
        code = database_insert(insert, err, "tu", "segments",
                               log_set_n_segments(import->logs)
                                   + (import->stream ? import->stream->n_forgotten : 0));
    if (code == 0)
        code = database_insert(insert, err, "tu", "log.lost_bytes", result->damage.lost_bytes);
    if (code == 0)
        code = write_left_out(insert, import, err);
    if (code == 0)
        code = write_joined_threads(insert, import, err);
    if (code == 0 && result->damage_text[0])
        code = database_insert(insert, err, "tt", "log.damage", result->damage_text);
    for (int kind = 0; code == 0 && kind < LOG_DAMAGE_KINDS; kind++) {
        if (result->damage.count[kind] == 0)
            continue;
        snprintf(key, sizeof key, "log.damage.%s", log_damage_name((enum log_damage_kind)kind));
        code = database_insert(insert, err, "tu", key, result->damage.count[kind]);
    }
    sqlite3_finalize(insert);
    return code;
}

static void take_unseen(const struct definitions_process *process, struct import_result *result)
{
    if (!process->unseen_allocator || !*process->unseen_allocator)
        return;
    if (result->n_unseen++ > 0)
        return;
    snprintf(result->unseen_text, sizeof result->unseen_text,
             "%s inside '%s' are not recorded%s%s%s", process->unseen_allocator,
             process->executable ? process->executable : "?", *process->unseen_why ? " (" : "",
             process->unseen_why, *process->unseen_why ? ")" : "");
    utf8_clean(result->unseen_text);
}

static void take_result(struct import *import, struct import_result *result)
{
    const struct definitions *definitions = log_set_definitions(import->logs);

    result->n_events = statistics_n_events(import->statistics);
    result->n_allocations =
        statistics_n_allocations(import->statistics) + statistics_n_elided(import->statistics);
    result->n_anomalies = statistics_n_anomalies(import->statistics);
    result->n_missed_frees = statistics_n_missed_frees(import->statistics);
    result->n_processes = (uint32_t)definitions->n_processes;
    for (size_t id = 1; id <= definitions->n_processes; id++) {
        const struct definitions_process *process = &definitions->processes[id];
        result->log_bytes += process->log_bytes;
        result->n_partial += definitions_is_partial(process);
        take_unseen(process, result);
        result->n_unreported += process->n_unreported_modules;
        result->unreached.n_deepbound += process->unreached.n_deepbound;
        result->unreached.n_foreign += process->unreached.n_foreign;
        result->unreached.n_elsewhere += process->unreached.n_elsewhere;
        result->unreached.n_pointers += process->unreached.n_pointers;
        for (int i = 0; i < LOG_DROP_REASONS; i++)
            result->n_dropped += process->dropped[i];
    }
    result->is_growing = log_set_is_growing(import->logs);
    if (definitions->n_processes)
        result->is_bounded = (definitions->processes[1].flags & LOG_FLAG_BOUNDED) != 0;
    if (definitions->n_processes)
        result->foreign_malloc = (definitions->processes[1].flags & LOG_FLAG_FOREIGN_MALLOC) != 0;
    result->damage = *log_set_damage(import->logs);
    describe_damage(&result->damage, result->damage_text, sizeof result->damage_text);
}

/* ---- the whole ---- */

static int create_database(struct import *import, struct error *err)
{
    const struct import_options *options = import->options;
    /* the kept rows were spooled before, and a slim database has no rows */
    uint64_t n_events =
        options->slim && import->statistics ? 0 : log_set_estimated_events(import->logs);
    uint64_t row_bytes = options->slim ? 0 : n_events * DATABASE_BYTES_PER_EVENT;
    int code = database_create(options->target, options->force, n_events * DATABASE_BYTES_PER_EVENT,
                               import->blank, &import->database, err);

    if (code == 0 && options->is_passing)
        database_let_pass(import->database);
    /* afterwards, because it removes what a killed import left */
    return code ? code
                : database_check_space(
                    options->target, MIN_BYTES + n_events * SPILL_BYTES_PER_EVENT + row_bytes, err);
}

static int make_statistics(struct import *import, struct error *err)
{
    int code = event_rows_new(database_sqlite(import->database), &import->rows, err);

    if (code || import->statistics)
        return code;
    struct row_sink sink = event_rows_sink(import->rows, definitions_for_rows(import));
    return statistics_new(log_set_definitions(import->logs), NULL, &sink, import->options->target,
                          &import->statistics, err);
}

/* The first estimate assumed two events per row; correct it now that the count is known. */
static int check_space_for_rows(const struct import *import, struct error *err)
{
    uint64_t n_rows = import->options->slim ? 0 : statistics_n_allocations(import->statistics);
    uint64_t row_bytes =
        DATABASE_BYTES_PER_ROW + (import->options->index ? INDEX_BYTES_PER_ROW : 0);

    return database_check_space(import->options->target, MIN_BYTES + n_rows * row_bytes, err);
}

static int write_all(struct import *import, struct import_result *result, struct error *err)
{
    sqlite3 *db = database_sqlite(import->database);
    int code = make_statistics(import, err);

    if (code == 0)
        code = pass_1(import, err);
    if (code == 0)
        code = check_space_for_rows(import, err);
    if (code == 0)
        code = pass_2(import, err);
    if (code == 0) {
        take_result(import, result);
        code = write_log_meta(db, import, result, err);
    }
    if (code == 0)
        code = write_names_and_sites(import, db, result, err);
    if (code == 0 && !import->options->slim)
        code = heap_images_write(db, log_set_definitions(import->logs), import->logs->origin_ns,
                                 &import->options->images, &result->images, err);
    if (code == 0)
        code = process_filter_keep(db, log_set_definitions(import->logs), err);
    return code || !import->options->index ? code : stack_index_write(db, STACK_INDEX_RANGE, err);
}

int import_write(struct import *import, struct import_result *result, struct error *err)
{
    uint64_t began_ns = monotonic_now_ns();
    struct stat status;
    int code = create_database(import, err);

    *result = (struct import_result){0};
    if (code == 0)
        code = write_all(import, result, err);
    result->seconds = (double)(monotonic_now_ns() - began_ns) / 1e9;
    if (code == 0)
        code = put_meta_seconds(database_sqlite(import->database), "import.seconds",
                                result->seconds, err);
    statistics_free(import->statistics);
    import->statistics = NULL;
    event_rows_free(import->rows); /* its statements would keep the database from closing */
    if (code == 0)
        code = database_commit(import->database, err);
    database_close(import->database);
    if (code == 0 && stat(import->options->target, &status) == 0)
        result->database_bytes = (uint64_t)status.st_size;
    return code;
}

/* ---- cuts ---- */

int import_find_marker(struct import *import, const char *name, uint32_t process,
                       bool *ret_is_found, uint64_t *ret_ns, struct error *err)
{
    uint64_t n_total = log_set_estimated_events(import->logs);
    const struct event_batch *batch;
    struct event_queue *events;
    uint64_t n_done = 0;
    int more = 0;
    int code = event_queue_open(import->logs, NULL, UINT64_MAX, &events, err);

    if (code)
        return code;
    *ret_is_found = false;
    progress_begin(import->progress, "looking for the marker", "events");
    while (code == 0 && !*ret_is_found && (more = event_queue_next(events, &batch, err)) > 0) {
        for (size_t i = 0; i < batch->n_events && !*ret_is_found; i++) {
            const struct event *event = &batch->events[i];
            *ret_is_found = event->kind == EVENT_MARKER
                            && (process == 0 || event->process == process) && event->text
                            && strcmp(event->text, name) == 0;
            *ret_ns = event->time_ns;
        }
        n_done += batch->n_events;
        code = progress_update(import->progress, n_done, n_total, err);
    }
    event_queue_close(events);
    return code || more >= 0 ? code : more;
}

/* The marker's time must be known before the definitions are used. */
static int open_logs(struct import *import, struct error *err)
{
    const struct import_options *options = import->options;
    const struct log_set_options log_options = {.only = options->only,
                                                .until_ns = options->until_ns};
    uint64_t marker_ns = 0;
    bool is_found = false;
    int code = log_set_open(options->logs, options->n_logs, &log_options, &import->logs, err);

    if (code || !options->until_marker)
        return code;
    code = import_find_marker(import, options->until_marker, 0, &is_found, &marker_ns, err);
    if (code == 0 && !is_found)
        code =
            error_set(err, ERROR_FORMAT, "'%s' has no marker '%s'%s", options->logs[0],
                      options->until_marker, options->until_ns ? " up to the time of --until" : "");
    if (code == 0)
        code = log_set_cut(import->logs, marker_ns, options->until_marker, err);
    if (code)
        log_set_close(import->logs);
    return code;
}

int import_run(const struct import_options *options, struct progress *progress,
               struct import_result *ret_result, struct error *err)
{
    struct import import = {.options = options, .progress = progress};

    int code = open_logs(&import, err);
    if (code)
        return code;
    code = import_write(&import, ret_result, err);
    log_set_close(import.logs);
    return code;
}

/* The only names are those in the recording: its addresses are meaningless on this machine. */
static bool has_given_names(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    bool has_names = false;

    if (database_prepare(db, "SELECT 1 FROM meta WHERE key = 'names' AND value = 'recording'",
                         &statement, NULL)
        == 0)
        has_names = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return has_names;
}

int import_resymbolize(const char *target, const struct symbols_options *symbols,
                       struct progress *progress, struct error *err)
{
    struct site_of_stack sites = {0};
    struct database *database;
    int code = database_open(target, &database, err);

    if (code)
        return code;
    code = database_guard_load_views(database_sqlite(database), err);
    if (code == 0 && !has_given_names(database_sqlite(database)))
        code = write_symbols(database_sqlite(database), symbols, progress, err);
    if (code == 0)
        code = call_sites_write(database_sqlite(database), NULL, &sites, err);
    if (code == 0)
        code = function_totals_write(database_sqlite(database), err);
    if (code == 0)
        code = site_tables_write(database_sqlite(database), &sites, err);
    if (code == 0)
        code = database_commit(database, err);
    free(sites.ids);
    database_close(database);
    return code;
}
