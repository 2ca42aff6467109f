/* SPDX-License-Identifier: MIT */
#include "importer/write/event_rows.h"

#include "importer/model/definitions.h"
#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "lib/abi/log_format.h"
#include "lib/base/dynamic_array.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* A range in event_rows.stacks. */
struct event_rows {
    sqlite3_stmt *failure;
    sqlite3_stmt *unmatched_free;
    sqlite3_stmt *mallopt;
    sqlite3_stmt *marker;
    sqlite3_stmt *mapping;
    sqlite3_stmt *sample;
    sqlite3_stmt *snapshot;
    sqlite3_stmt *move;
    struct bulk_insert *snapshot_stacks;
    uint64_t n_moves;
    uint64_t n_unmatched_frees;
    const struct definitions *definitions; /* for groups; NULL: moves are not written */
};

static void stack_column(const void *row, int column, sqlite3_context *context)
{
    const struct snapshot_stack *stack = row;
    const uint64_t values[] = {stack->snapshot_id, stack->backtrace, stack->live_bytes,
                               stack->live_blocks};

    sqlite3_result_int64(context, (sqlite3_int64)values[column]);
}

static int prepare(sqlite3 *db, struct event_rows *rows, struct error *err)
{
    const struct {
        const char *sql;
        sqlite3_stmt **statement;
    } all[] = {
        {"INSERT INTO allocation_failures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", &rows->failure},
        {"INSERT INTO unmatched_frees (unmatched_free_id, process_id, thread_id, at_ns,"
         " backtrace_id, call, address) VALUES (?, ?, ?, ?, ?, ?, ?)",
         &rows->unmatched_free},
        {"INSERT INTO mallopts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &rows->mallopt},
        {"INSERT INTO markers VALUES (NULL, ?, ?, ?, ?)", &rows->marker},
        {"INSERT INTO mmaps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
         &rows->mapping},
        {"INSERT OR REPLACE INTO memory_samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
         &rows->sample},
        {"INSERT INTO snapshots VALUES (?, ?, ?, ?)", &rows->snapshot},
        {"INSERT INTO group_moves VALUES (?, ?, ?, ?, ?)", &rows->move},
    };

    int code = 0;

    for (size_t i = 0; code == 0 && i < sizeof all / sizeof all[0]; i++)
        code = database_prepare(db, all[i].sql, all[i].statement, err);
    if (code == 0)
        code = bulk_insert_open(
            db, "snapshot_backtraces(snapshot_id, backtrace_id, live_bytes, live_blocks)", 4,
            stack_column, sizeof(struct snapshot_stack), &rows->snapshot_stacks, err);
    return code;
}

int event_rows_new(sqlite3 *db, struct event_rows **ret, struct error *err)
{
    struct event_rows *rows = calloc(1, sizeof *rows);

    if (!rows)
        return error_set(err, ERROR_NOMEM, "out of memory");
    int code = prepare(db, rows, err);
    if (code) {
        event_rows_free(rows);
        return code;
    }
    *ret = rows;
    return 0;
}

void event_rows_free(struct event_rows *rows)
{
    if (!rows)
        return;
    sqlite3_finalize(rows->failure);
    sqlite3_finalize(rows->unmatched_free);
    sqlite3_finalize(rows->mallopt);
    sqlite3_finalize(rows->marker);
    sqlite3_finalize(rows->mapping);
    sqlite3_finalize(rows->sample);
    sqlite3_finalize(rows->snapshot);
    sqlite3_finalize(rows->move);
    bulk_insert_close(rows->snapshot_stacks);
    free(rows);
}

static const char *mallopt_parameter_name(int64_t parameter)
{
    static const struct {
        int parameter;
        const char *name;
    } names[] = {
        {M_MXFAST, "M_MXFAST"},       {M_TRIM_THRESHOLD, "M_TRIM_THRESHOLD"},
        {M_TOP_PAD, "M_TOP_PAD"},     {M_MMAP_THRESHOLD, "M_MMAP_THRESHOLD"},
        {M_MMAP_MAX, "M_MMAP_MAX"},   {M_CHECK_ACTION, "M_CHECK_ACTION"},
        {M_PERTURB, "M_PERTURB"},     {M_ARENA_TEST, "M_ARENA_TEST"},
        {M_ARENA_MAX, "M_ARENA_MAX"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].parameter == parameter)
            return names[i].name;
    }
    return NULL;
}

/* Maps DEFINITIONS_NO_BACKTRACE (stack not captured) to 0. */
static uint64_t known_backtrace(uint32_t backtrace)
{
    return backtrace == DEFINITIONS_NO_BACKTRACE ? 0 : backtrace;
}

/* SQLite's integers are signed. Larger requests, such as an overflowed product, are clamped. */
static uint64_t asked_bytes(uint64_t size_bytes)
{
    return size_bytes < INT64_MAX ? size_bytes : INT64_MAX;
}

static int write_event(void *context, const struct event *event, struct error *err)
{
    struct event_rows *rows = context;
    uint64_t process = event->process;
    uint64_t thread = event->thread;

    switch (event->kind) {
    case EVENT_FAILURE:
        return database_insert(rows->failure, err, "uzuzuui", process, thread, event->time_ns,
                               known_backtrace(event->backtrace),
                               (uint64_t)(event->call & LOG_CALL_MASK), asked_bytes(event->size),
                               event->value);
    case EVENT_UNMATCHED_FREE:
        return database_insert(rows->unmatched_free, err, "uuzuztu", ++rows->n_unmatched_frees,
                               process, thread, event->time_ns, known_backtrace(event->backtrace),
                               event->value ? "realloc" : "free", event->address);
    case EVENT_MALLOPT:
        if (event->call)
            return database_insert(rows->mallopt, err, "uzzutnnii", process, thread,
                                   known_backtrace(event->backtrace), event->time_ns, "malloc_trim",
                                   event->parameter, (int64_t)event->result);
        return database_insert(rows->mallopt, err, "uzzutitii", process, thread,
                               known_backtrace(event->backtrace), event->time_ns, "mallopt",
                               event->parameter, mallopt_parameter_name(event->parameter),
                               event->value, (int64_t)event->result);
    case EVENT_MARKER:
        return database_insert(rows->marker, err, "uzut", process, thread, event->time_ns,
                               event->text ? event->text : "");
    default:
        return 0;
    }
}

static int write_mapping(void *context, const struct mapping *piece, struct error *err)
{
    const struct event_rows *rows = context;

    /* Unknown values of a mapping made before the recording are -1, and so is the descriptor of an
     * anonymous mapping. */
    return database_insert(rows->mapping, err, "uuuzzuuoooitumzzzmm", piece->mmap_id,
                           piece->call_id, (uint64_t)piece->process, (uint64_t)piece->thread,
                           known_backtrace(piece->backtrace), piece->address, piece->length,
                           (int64_t)piece->prot, (int64_t)piece->flags, (int64_t)piece->fd,
                           piece->file_offset, piece->path, piece->mapped_ns, piece->unmapped_ns,
                           (uint64_t)piece->unmap_thread, known_backtrace(piece->unmap_backtrace),
                           piece->remapped_from_id, piece->peak_rss_bytes, piece->peak_rss_ns);
}

static int write_sample(void *context, const struct memory_sample *sample, struct error *err)
{
    const struct event_rows *rows = context;

    const uint64_t *parts = sample->parts;

    return database_insert(
        rows->sample, err, "uuummmmmmmmm", (uint64_t)sample->process, sample->time_ns,
        sample->rss_bytes, sample->anonymous_bytes, sample->file_bytes, sample->own_bytes,
        parts[MEMORY_PART_HEAP], parts[MEMORY_PART_OWN_MAPPING], parts[MEMORY_PART_STACK],
        parts[MEMORY_PART_SHARED], parts[MEMORY_PART_FILE], parts[MEMORY_PART_OTHER]);
}

static int write_snapshot(void *context, const struct snapshot *snapshot, struct error *err)
{
    struct event_rows *rows = context;
    int code = database_insert(rows->snapshot, err, "uuut", snapshot->id,
                               (uint64_t)snapshot->process, snapshot->at_ns, snapshot->reason);

    if (code || snapshot->n_stacks == 0)
        return code;
    return bulk_insert_rows(rows->snapshot_stacks, snapshot->stacks, snapshot->n_stacks, err);
}

static int write_move(void *context, const struct statistics_move *move, struct error *err)
{
    struct event_rows *rows = context;

    return database_insert(rows->move, err, "uuuuu", move->allocation_id, ++rows->n_moves,
                           move->at_ns,
                           (uint64_t)definitions_group_id(rows->definitions, move->from_group),
                           (uint64_t)definitions_group_id(rows->definitions, move->group));
}

struct row_sink event_rows_sink(struct event_rows *rows, const struct definitions *definitions)
{
    rows->definitions = definitions;
    return (struct row_sink){.context = rows,
                             .event = write_event,
                             .mapping = write_mapping,
                             .memory = write_sample,
                             .snapshot = write_snapshot,
                             .move = definitions ? write_move : NULL};
}
