/* SPDX-License-Identifier: MIT */
/*
 * pprof: profile.proto in gzip, as `go tool pprof` reads it.
 *
 * A reader merges concatenated messages into one, joining repeated fields. So every string,
 * function, location and sample is encoded and written by itself, and the profile is never in
 * memory.
 */
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/utf8.h"
#include "queries/core/query.h"
#include "queries/export/export_job.h"
#include "queries/render/compressed_stream.h"

#include <errno.h>
#include <pprof.pb-c.h>
#include <stdlib.h>
#include <string.h>

enum string_of {
    STRING_FUNCTION,
    STRING_RAW_NAME,
    STRING_SOURCE,
    STRING_OBJECT,
    STRING_BUILD_ID,
    STRING_LITERAL
};

static const struct sample_type {
    const char *type;
    const char *unit;
    enum export_total total;
} sample_types[] = {
    {"alloc_objects", "count", EXPORT_ALLOCATED_BLOCKS},
    {"alloc_space", "bytes", EXPORT_ALLOCATED_BYTES},
    {"inuse_objects", "count", EXPORT_LIVE_BLOCKS},
    {"inuse_space", "bytes", EXPORT_LIVE_BYTES},
    {"peak_objects", "count", EXPORT_PEAK_BLOCKS},
    {"peak_space", "bytes", EXPORT_PEAK_BYTES},
};

enum {
    N_SAMPLE_TYPES = sizeof(sample_types) / sizeof(sample_types[0]),
    DEFAULT_SAMPLE_TYPE = 3
};

struct writer {
    const struct export_job *job;
    FILE *out;
    uint8_t *buffer;
    size_t capacity;
    struct hash_map strings;   /* enum string_of and id; number 0 is "" */
    struct hash_map functions; /* function_id and source_id */
    bool *has_location;        /* by frame_id */
    int64_t *load_addresses;   /* by object_id */
    int64_t n_objects;
    uint64_t *locations; /* of the stack in hand */
    size_t n_locations, location_capacity;
    int rc;
    struct error *err;
};

static void fail(struct writer *writer, const char *what)
{
    if (writer->rc == 0)
        writer->rc = error_set(writer->err, ERROR_NOMEM, "no memory for pprof's %s", what);
}

static void put(struct writer *writer, const Pprof__Profile *part)
{
    size_t size = pprof__profile__get_packed_size(part);

    uint8_t *buffer = dynamic_array_reserve(writer->buffer, &writer->capacity, size, 1);

    if (!buffer) {
        fail(writer, "messages");
        return;
    }
    writer->buffer = buffer;
    (void)fwrite(buffer, 1, pprof__profile__pack(part, buffer), writer->out);
}

/* protobuf-c's structures have no const; it only reads what is packed. */
static char *unconst(const char *text)
{
    return (char *)(uintptr_t)text;
}

static int64_t string_number(struct writer *writer, enum string_of what, int64_t id,
                             const char *text)
{
    Pprof__Profile part = PPROF__PROFILE__INIT;
    char *strings[1];
    bool is_new;
    int64_t number;

    if (!text || !*text)
        return 0;
    number = id_pairs_get(&writer->strings, what, id, &is_new);
    if (number < 0)
        fail(writer, "strings");
    if (number < 0 || !is_new)
        return number;
    strings[0] = strdup(text);
    if (!strings[0]) {
        fail(writer, "strings");
        return -1;
    }
    if (what != STRING_LITERAL)
        utf8_clean(strings[0]);
    part.string_table = strings;
    part.n_string_table = 1;
    put(writer, &part);
    free(strings[0]);
    return number;
}

/* A string of the format itself, identified by its address. */
static int64_t literal_number(struct writer *writer, const char *text)
{
    return string_number(writer, STRING_LITERAL, (int64_t)(intptr_t)text, text);
}

/* ---- head ---- */

static void put_empty_string(struct writer *writer)
{
    Pprof__Profile part = PPROF__PROFILE__INIT;
    char *strings[1] = {unconst("")};
    bool is_new;

    if (id_pairs_get(&writer->strings, STRING_LITERAL, 0, &is_new) != 0)
        fail(writer, "strings");
    part.string_table = strings;
    part.n_string_table = 1;
    put(writer, &part);
}

static void put_sample_type(struct writer *writer, const struct sample_type *type)
{
    Pprof__Profile part = PPROF__PROFILE__INIT;
    Pprof__ValueType value = PPROF__VALUE_TYPE__INIT;
    Pprof__ValueType *values[1] = {&value};

    value.type = literal_number(writer, type->type);
    value.unit = literal_number(writer, type->unit);
    part.sample_type = values;
    part.n_sample_type = 1;
    put(writer, &part);
}

static void put_head(struct writer *writer)
{
    const struct export_job *job = writer->job;
    const int64_t sample_bytes = job->query->database.sample_bytes;
    Pprof__Profile part = PPROF__PROFILE__INIT;
    Pprof__ValueType period = PPROF__VALUE_TYPE__INIT;
    int64_t comment[2];

    put_empty_string(writer);
    for (size_t i = 0; i < N_SAMPLE_TYPES; i++)
        put_sample_type(writer, &sample_types[i]);
    period.type = literal_number(writer, "space");
    period.unit = literal_number(writer, sample_types[DEFAULT_SAMPLE_TYPE].unit);
    comment[0] = literal_number(writer, job->command_line);
    part.period_type = &period;
    part.period = sample_bytes ? sample_bytes : 1; /* values are scaled up already */
    part.time_nanos = job->start_unix_ns;
    part.duration_nanos = saturating_subtract(job->end_ns, job->start_ns);
    part.default_sample_type = literal_number(writer, sample_types[DEFAULT_SAMPLE_TYPE].type);
    part.comment = comment;
    part.n_comment = comment[0] ? 1 : 0;
    if (sample_bytes)
        comment[part.n_comment++] = literal_number(
            writer,
            "estimates from samples, period bytes apart: a sum of S bytes is S ± 2√(S × period)");
    put(writer, &part);
}

/* ---- code ---- */

enum mapping_column {
    OBJECT_ID,
    PATH,
    BUILD_ID,
    START,
    LIMIT
};

/* The first mapping is the program, by convention. */
static const char mappings_sql[] =
    "SELECT o.object_id, o.path, o.build_id, ifnull(min(m.load_address), 0),"
    " ifnull(min(m.load_address) + max(ifnull(m.size_bytes, 0)), 0)"
    " FROM objects AS o LEFT JOIN modules AS m ON m.object_id = o.object_id"
    " AND m.process_id = ?1 GROUP BY o.object_id ORDER BY o.path IS NOT ?2, o.object_id";

static void put_mapping(struct writer *writer, struct sqlite3_stmt *row)
{
    Pprof__Profile part = PPROF__PROFILE__INIT;
    Pprof__Mapping mapping = PPROF__MAPPING__INIT;
    Pprof__Mapping *mappings[1] = {&mapping};
    int64_t id = sqlite3_column_int64(row, OBJECT_ID);

    mapping.id = (uint64_t)id;
    mapping.filename =
        string_number(writer, STRING_OBJECT, id, (const char *)sqlite3_column_text(row, PATH));
    mapping.build_id = string_number(writer, STRING_BUILD_ID, id,
                                     (const char *)sqlite3_column_text(row, BUILD_ID));
    mapping.memory_start = (uint64_t)sqlite3_column_int64(row, START);
    mapping.memory_limit = (uint64_t)sqlite3_column_int64(row, LIMIT);
    mapping.has_functions = mapping.has_filenames = true;
    mapping.has_line_numbers = mapping.has_inline_frames = true;
    part.mapping = mappings;
    part.n_mapping = 1;
    put(writer, &part);
}

static int put_mappings(struct writer *writer)
{
    const struct rundb *database = &writer->job->query->database;
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database, mappings_sql, &stmt, writer->err);

    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, writer->job->process_id);
    sqlite3_bind_text(stmt, 2, writer->job->executable, -1, SQLITE_STATIC);
    while ((rc = rundb_step(database, stmt, writer->err)) == 1)
        put_mapping(writer, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* 0 when nothing is known of the function. */
static uint64_t need_function(struct writer *writer, const struct stack_position *position)
{
    Pprof__Profile part = PPROF__PROFILE__INIT;
    Pprof__Function function = PPROF__FUNCTION__INIT;
    Pprof__Function *functions[1] = {&function};
    bool is_new;
    int64_t number;

    if (!position->function)
        return 0;
    number = id_pairs_get(&writer->functions, position->function_id, position->source_id, &is_new);
    if (number < 0)
        fail(writer, "functions");
    if (number < 0 || !is_new)
        return (uint64_t)(number + 1);
    function.id = (uint64_t)number + 1;
    function.name =
        string_number(writer, STRING_FUNCTION, position->function_id, position->function);
    function.system_name =
        string_number(writer, STRING_RAW_NAME, position->function_id, position->raw_name);
    function.filename = string_number(writer, STRING_SOURCE, position->source_id, position->source);
    part.function = functions;
    part.n_function = 1;
    put(writer, &part);
    return function.id;
}

static void put_location(struct writer *writer, int64_t frame_id,
                         const struct stack_position *positions, size_t n)
{
    Pprof__Profile part = PPROF__PROFILE__INIT;
    Pprof__Location location = PPROF__LOCATION__INIT;
    Pprof__Location *locations[1] = {&location};
    Pprof__Line *lines = calloc(n, sizeof(*lines));
    Pprof__Line **pointers = calloc(n, sizeof(*pointers));
    int64_t object = positions[0].object_id;

    if (!lines || !pointers)
        fail(writer, "lines");
    for (size_t i = 0; lines && pointers && i < n; i++) {
        uint64_t function = need_function(writer, &positions[i]);
        pprof__line__init(&lines[location.n_line]);
        lines[location.n_line].function_id = function;
        lines[location.n_line].line = positions[i].line;
        pointers[location.n_line] = &lines[location.n_line];
        location.n_line += function ? 1 : 0;
    }
    location.id = (uint64_t)frame_id;
    location.mapping_id = (uint64_t)object;
    location.address = (uint64_t)positions[0].object_offset;
    if (object > 0 && object < writer->n_objects)
        location.address += (uint64_t)writer->load_addresses[object];
    location.line = pointers;
    part.location = locations;
    part.n_location = 1;
    put(writer, &part);
    free(lines);
    free(pointers);
}

static void need_location(struct writer *writer, int64_t frame_id)
{
    size_t n;
    const struct stack_position *positions =
        stack_weights_frame(&writer->job->stacks, frame_id, &n);
    uint64_t *locations;

    if (n == 0)
        return;
    if (!writer->has_location[frame_id])
        put_location(writer, frame_id, positions, n);
    writer->has_location[frame_id] = true;
    locations = dynamic_array_reserve(writer->locations, &writer->location_capacity,
                                      writer->n_locations + 1, sizeof(*locations));
    if (!locations) {
        fail(writer, "stacks");
        return;
    }
    writer->locations = locations;
    locations[writer->n_locations++] = (uint64_t)frame_id;
}

/* ---- samples ---- */

static void put_sample(struct writer *writer, const struct export_stack_totals *stack)
{
    const struct stack_weights *stacks = &writer->job->stacks;
    Pprof__Profile part = PPROF__PROFILE__INIT;
    Pprof__Sample sample = PPROF__SAMPLE__INIT;
    Pprof__Sample *samples[1] = {&sample};
    int64_t values[N_SAMPLE_TYPES];
    int64_t id = stack->backtrace_id;

    writer->n_locations = 0;
    for (; id > 0 && id < stacks->n_nodes; id = stacks->nodes[id].parent_id)
        need_location(writer, stacks->nodes[id].frame_id);
    for (size_t i = 0; i < N_SAMPLE_TYPES; i++)
        values[i] = stack->totals[sample_types[i].total];
    sample.location_id = writer->locations;
    sample.n_location_id = writer->n_locations;
    sample.value = values;
    sample.n_value = N_SAMPLE_TYPES;
    part.sample = samples;
    part.n_sample = 1;
    put(writer, &part);
}

static int put_samples(struct writer *writer)
{
    struct export_totals totals;
    struct export_stack_totals stack;
    int rc = export_totals_open(&totals, writer->job, writer->err);

    if (rc == 0) {
        put_head(writer);
        rc = put_mappings(writer);
        while (rc == 0 && (rc = export_totals_next(&totals, &stack, writer->err)) == 1) {
            put_sample(writer, &stack);
            rc = writer->rc ? writer->rc : rundb_go_on(&writer->job->query->database, writer->err);
        }
    }
    export_totals_close(&totals);
    return rc;
}

static int prepare(struct writer *writer)
{
    int rc = export_job_load_addresses(writer->job, &writer->load_addresses, &writer->n_objects,
                                       writer->err);

    writer->has_location = calloc((size_t)writer->job->stacks.n_frames + 1, sizeof(bool));
    if (!writer->has_location)
        fail(writer, "locations");
    return rc == 0 ? writer->rc : rc;
}

int export_pprof_run(struct export_job *job, struct error *err)
{
    struct writer writer = {.job = job, .err = err};
    int rc;

    writer.out = compressed_stream_open(job->out, COMPRESSED_GZIP);
    if (!writer.out)
        return error_set(err, ERROR_NOMEM, "no memory to pack pprof's data");
    rc = prepare(&writer);
    if (rc == 0)
        rc = put_samples(&writer);
    if (fclose(writer.out) != 0 && rc == 0)
        rc = export_job_write_error(job, errno, err);
    hash_map_done(&writer.strings);
    hash_map_done(&writer.functions);
    free(writer.buffer);
    free(writer.has_location);
    free(writer.load_addresses);
    free(writer.locations);
    return rc;
}
