/* SPDX-License-Identifier: MIT */
#include "importer/symbols/symbol_rows.h"

#include "importer/write/bulk_insert.h"
#include "importer/write/database.h"
#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_PER_INSERT = 4096
};

struct frame_line {
    int64_t frame_id;
    uint32_t inline_level;
    struct symbol_level level;
};

/* Database-wide numbers in order of first use; an id is a number + 1. */
struct names {
    struct intern raw_names;
    const char **names; /* demangled, by number in raw_names; owned by the jobs */
    size_t n_allocated;
    struct intern sources;
};

struct writer {
    sqlite3 *db;
    struct names names;
    struct frame_line *lines;
    size_t n_lines;
    struct bulk_insert *bulk;
    struct error *err;
};

static int no_memory(struct writer *writer)
{
    return error_set(writer->err, ERROR_NOMEM, "no memory for the symbols of all objects");
}

static int number_function(struct writer *writer, const char *raw_name, const char *name,
                           uint32_t *ret_number)
{
    struct names *names = &writer->names;
    uint32_t n_before = names->raw_names.n_strings;
    int64_t number = intern_add(&names->raw_names, raw_name, strlen(raw_name));

    if (number < 0)
        return no_memory(writer);
    if (number == n_before) {
        const char **known = dynamic_array_reserve(names->names, &names->n_allocated,
                                                   (size_t)n_before + 1, sizeof(*known));
        if (!known)
            return no_memory(writer);
        names->names = known;
        known[number] = name;
    }
    *ret_number = (uint32_t)number;
    return 0;
}

static int number_source(struct writer *writer, const char *source, uint32_t *ret_number)
{
    int64_t number = intern_add(&writer->names.sources, source, strlen(source));

    *ret_number = (uint32_t)number;
    return number < 0 ? no_memory(writer) : 0;
}

/* Database-wide numbers by numbers of a job; SYMBOL_NONE: not used yet. */
struct map {
    uint32_t *functions;
    uint32_t *sources;
};

static uint32_t *new_map(uint32_t n_entries)
{
    uint32_t *map = malloc(((size_t)n_entries + 1) * sizeof(*map));

    for (uint32_t i = 0; map && i < n_entries; i++)
        map[i] = SYMBOL_NONE;
    return map;
}

static int renumber_level(struct writer *writer, const struct symbol_store *store,
                          const struct map *map, struct symbol_level *level)
{
    uint32_t raw = level->function;
    uint32_t source = level->source;
    int status = 0;

    if (raw != SYMBOL_NONE && map->functions[raw] == SYMBOL_NONE)
        status = number_function(writer, intern_get(&store->raw_names, raw),
                                 intern_get(&store->names, store->name_of_raw[raw]),
                                 &map->functions[raw]);
    if (status == 0 && source != SYMBOL_NONE && map->sources[source] == SYMBOL_NONE)
        status = number_source(writer, intern_get(&store->sources, source), &map->sources[source]);
    if (raw != SYMBOL_NONE)
        level->function = map->functions[raw];
    if (source != SYMBOL_NONE)
        level->source = map->sources[source];
    return status;
}

/* Renumbers in order of positions, and only used names: a store from the cache may have more, in
 * another order. */
static int renumber(struct writer *writer, struct symbol_job *job)
{
    struct map map = {.functions = new_map(job->store.raw_names.n_strings),
                      .sources = new_map(job->store.sources.n_strings)};
    int status = map.functions && map.sources ? 0 : no_memory(writer);

    for (size_t i = 0; status == 0 && i < job->n_positions; i++) {
        struct symbol_span span = job->spans[i];
        for (uint32_t k = 0; status == 0 && k < span.n_levels; k++)
            status =
                renumber_level(writer, &job->store, &map, &job->store.levels[span.first_level + k]);
    }
    free(map.functions);
    free(map.sources);
    return status;
}

static void show_line(const void *row, int column, sqlite3_context *context)
{
    const struct frame_line *line = row;
    uint32_t values[] = {0,
                         line->inline_level,
                         line->level.function + 1,
                         line->level.source + 1,
                         line->level.line,
                         line->level.column};

    /* SYMBOL_NONE + 1 is 0, and 0 is unknown from the third column on. */
    if (column == 0)
        sqlite3_result_int64(context, line->frame_id);
    else if (column == 1 || values[column])
        sqlite3_result_int64(context, values[column]);
}

static int flush(struct writer *writer)
{
    size_t n_lines = writer->n_lines;

    writer->n_lines = 0;
    return n_lines ? bulk_insert_rows(writer->bulk, writer->lines, n_lines, writer->err) : 0;
}

static int write_level(struct writer *writer, const struct symbol_frame *frame,
                       uint32_t inline_level, struct symbol_level level)
{
    writer->lines[writer->n_lines++] = (struct frame_line){
        .frame_id = frame->frame_id, .inline_level = inline_level, .level = level};
    return writer->n_lines == ROWS_PER_INSERT ? flush(writer) : 0;
}

static int write_outside(struct writer *writer, const struct symbol_frame *frame,
                         const struct intern *kept_names)
{
    struct symbol_level level = {.function = SYMBOL_NONE, .source = SYMBOL_NONE};
    int status = 0;

    if (frame->position != SYMBOL_NONE) {
        const char *name = intern_get(kept_names, frame->position);
        status = number_function(writer, name, name, &level.function);
    }
    return status ? status : write_level(writer, frame, 0, level);
}

static int write_frame(struct writer *writer, const struct symbol_frame *frame,
                       const struct intern *kept_names)
{
    const struct symbol_span *span;
    int status = 0;

    if (!frame->job)
        return write_outside(writer, frame, kept_names);
    span = &frame->job->spans[frame->position];
    for (uint32_t i = 0; status == 0 && i < span->n_levels; i++)
        status = write_level(writer, frame, i, frame->job->store.levels[span->first_level + i]);
    return status;
}

static int write_functions(struct writer *writer)
{
    const struct names *names = &writer->names;
    sqlite3_stmt *statement;
    int status = database_prepare(writer->db, "INSERT INTO functions VALUES (?, ?, ?)", &statement,
                                  writer->err);

    if (status)
        return status;
    for (uint32_t i = 0; status == 0 && i < names->raw_names.n_strings; i++)
        status = database_insert(statement, writer->err, "itt", (int64_t)i + 1, names->names[i],
                                 intern_get(&names->raw_names, i));
    sqlite3_finalize(statement);
    return status;
}

static int write_sources(struct writer *writer)
{
    const struct intern *sources = &writer->names.sources;
    sqlite3_stmt *statement;
    int status =
        database_prepare(writer->db, "INSERT INTO sources VALUES (?, ?)", &statement, writer->err);

    if (status)
        return status;
    for (uint32_t i = 0; status == 0 && i < sources->n_strings; i++)
        status =
            database_insert(statement, writer->err, "it", (int64_t)i + 1, intern_get(sources, i));
    sqlite3_finalize(statement);
    return status;
}

static int write_objects(struct writer *writer, const struct symbol_job *jobs, size_t n_jobs)
{
    sqlite3_stmt *statement;
    int status = database_prepare(
        writer->db, "UPDATE objects SET debug_path = ?, debug_note = ? WHERE object_id = ?",
        &statement, writer->err);

    if (status)
        return status;
    for (size_t i = 0; status == 0 && i < n_jobs; i++)
        status = database_insert(statement, writer->err, "tti", jobs[i].debug_path, jobs[i].note,
                                 jobs[i].object_id);
    sqlite3_finalize(statement);
    return status;
}

static int write_lines(struct writer *writer, const struct symbol_frame *frames, size_t n_frames,
                       const struct intern *kept_names)
{
    int status = bulk_insert_open(writer->db,
                                  "frame_lines(frame_id, inline_level, function_id, source_id, "
                                  "line, column_number)",
                                  6, show_line, sizeof(*writer->lines), &writer->bulk, writer->err);

    writer->lines = malloc(ROWS_PER_INSERT * sizeof(*writer->lines));
    if (status == 0 && !writer->lines)
        status = no_memory(writer);
    for (size_t i = 0; status == 0 && i < n_frames; i++)
        status = write_frame(writer, &frames[i], kept_names);
    return status ? status : flush(writer);
}

static int write_all(struct writer *writer, struct symbol_job *jobs, size_t n_jobs,
                     const struct symbol_frame *frames, size_t n_frames,
                     const struct intern *kept_names)
{
    int status = database_execute(writer->db,
                                  "DELETE FROM frame_lines; DELETE FROM functions; "
                                  "DELETE FROM sources; "
                                  "UPDATE objects SET debug_path = NULL, debug_note = NULL",
                                  writer->err);

    for (size_t i = 0; status == 0 && i < n_jobs; i++)
        status = renumber(writer, &jobs[i]);
    if (status == 0)
        status = write_lines(writer, frames, n_frames, kept_names);
    if (status == 0)
        status = write_functions(writer);
    if (status == 0)
        status = write_sources(writer);
    return status ? status : write_objects(writer, jobs, n_jobs);
}

int symbol_rows_write(sqlite3 *db, struct symbol_job *jobs, size_t n_jobs,
                      const struct symbol_frame *frames, size_t n_frames,
                      const struct intern *kept_names, struct error *err)
{
    struct writer writer = {.db = db, .err = err};
    int status = write_all(&writer, jobs, n_jobs, frames, n_frames, kept_names);

    bulk_insert_close(writer.bulk);
    free(writer.lines);
    free(writer.names.names);
    intern_done(&writer.names.raw_names);
    intern_done(&writer.names.sources);
    return status;
}
