/* SPDX-License-Identifier: MIT */
#include "queries/core/stack_weights.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/core/headline.h"
#include "queries/core/query.h"

#include <stdlib.h>
#include <string.h>

#define SQUARE(number) number "_margin * " number "_margin"

static const struct measure {
    const char *name;
    const char *title;
    struct stack_measure_columns columns;
} measures[] = {
    [STACK_MEASURE_PEAK] = {"peak",
                            "live at the peak",
                            {"peak_bytes", "peak_blocks", SQUARE("peak_bytes"),
                             SQUARE("peak_blocks")}},
    [STACK_MEASURE_LEAKED] = {"leaked",
                              "leaked",
                              {"leaked_bytes", "leaked_blocks", SQUARE("leaked_bytes"),
                               SQUARE("leaked_blocks")}},
    [STACK_MEASURE_ALLOCATED] = {"allocated",
                                 "allocated",
                                 {"allocated_bytes", "allocated_blocks", SQUARE("allocated_bytes"),
                                  SQUARE("allocated_blocks")}},
    [STACK_MEASURE_FREED] = {"freed",
                             "freed",
                             {"freed_bytes", "freed_blocks",
                              SQUARE("allocated_bytes") " - " SQUARE("leaked_bytes"),
                              SQUARE("allocated_blocks") " - " SQUARE("leaked_blocks")}},
    [STACK_MEASURE_TEMPORARY] = {"temporary",
                                 "temporary",
                                 {"temporary_bytes", "temporary_blocks", "NULL", "NULL"}},
    [STACK_MEASURE_LIVE] = {"live",
                            "live",
                            {"allocated_bytes", "allocated_blocks", SQUARE("allocated_bytes"),
                             SQUARE("allocated_blocks")}},
};

enum {
    N_MEASURES = sizeof(measures) / sizeof(measures[0])
};

int stack_measure_parse(const char *text, enum stack_measure *ret_measure, struct error *err)
{
    for (int i = 0; i < N_MEASURES; i++) {
        if (strcmp(measures[i].name, text) == 0) {
            *ret_measure = (enum stack_measure)i;
            return 0;
        }
    }
    return error_set(err, ERROR_USAGE,
                     "measure '%s': peak, leaked, allocated, freed, temporary or live is expected",
                     text);
}

const char *stack_measure_name(enum stack_measure measure)
{
    return measures[measure].name;
}

const struct stack_measure_columns *stack_measure_columns(enum stack_measure measure)
{
    return &measures[measure].columns;
}

const char *stack_measure_title(const struct query *query, enum stack_measure measure)
{
    return measure == STACK_MEASURE_LEAKED ? headline_leaked(query, query->options->process_id)
                                           : measures[measure].title;
}

int stack_measure_of(const struct query *query, enum stack_measure *ret_measure, struct error *err)
{
    const struct query_options *options = query->options;
    bool is_at = filter_instant(&options->filter) != NULL;
    int rc = 0;

    *ret_measure = is_at ? STACK_MEASURE_LIVE : STACK_MEASURE_PEAK;
    if (options->measure)
        rc = stack_measure_parse(options->measure, ret_measure, err);
    if (rc == 0 && *ret_measure == STACK_MEASURE_LIVE && !is_at)
        return error_set(err, ERROR_USAGE,
                         "measure=live needs at=TIME: a time, a percentage of the run, peak"
                         " or end");
    return rc;
}

/* ---- weights ---- */

static int add_weight(struct stack_weights *weights, size_t *capacity, struct sqlite3_stmt *row,
                      struct error *err)
{
    struct stack_weight *list;

    weights->is_estimate = weights->is_estimate || sqlite3_column_type(row, 4) != SQLITE_NULL;
    saturating_grow(&weights->suppressed_bytes, sqlite3_column_int64(row, 3));
    if (sqlite3_column_int64(row, 1) == 0 && sqlite3_column_int64(row, 2) == 0)
        return 0;
    list = dynamic_array_reserve(weights->list, capacity, weights->n + 1, sizeof(*list));
    if (!list)
        return error_set(err, ERROR_NOMEM, "no memory for %zu stacks", weights->n + 1);
    weights->list = list;
    list[weights->n++] = (struct stack_weight){.backtrace_id = sqlite3_column_int64(row, 0),
                                               .bytes = sqlite3_column_int64(row, 1),
                                               .blocks = sqlite3_column_int64(row, 2),
                                               .bytes_square = sqlite3_column_double(row, 4),
                                               .blocks_square = sqlite3_column_double(row, 5)};
    return 0;
}

static int compare_weights(const void *left, const void *right)
{
    const struct stack_weight *a = left;
    const struct stack_weight *b = right;

    return (a->backtrace_id > b->backtrace_id) - (a->backtrace_id < b->backtrace_id);
}

/* Merges to one weight per stack in the order of ids: rows are ordered within a process, but a
 * stack may have rows of several. */
static void merge_weights(struct stack_weights *weights)
{
    size_t n = 0;

    if (weights->n > 0)
        qsort(weights->list, weights->n, sizeof(*weights->list), compare_weights);
    for (size_t i = 0; i < weights->n; i++) {
        const struct stack_weight *weight = &weights->list[i];

        if (n > 0 && weights->list[n - 1].backtrace_id == weight->backtrace_id) {
            saturating_grow(&weights->list[n - 1].bytes, weight->bytes);
            saturating_grow(&weights->list[n - 1].blocks, weight->blocks);
            weights->list[n - 1].bytes_square += weight->bytes_square;
            weights->list[n - 1].blocks_square += weight->blocks_square;
        } else {
            weights->list[n++] = *weight;
        }
    }
    weights->n = n;
}

/* Like the view leaks: suppressed stacks are excluded and counted separately. */
static const char leaked_source[] =
    "(SELECT process_id, backtrace_id, iif(rule_id IS NULL, leaked_bytes, 0) AS leaked_bytes,"
    " iif(rule_id IS NULL, leaked_blocks, 0) AS leaked_blocks,"
    " leaked_bytes_margin * (rule_id IS NULL) AS leaked_bytes_margin,"
    " leaked_blocks_margin * (rule_id IS NULL) AS leaked_blocks_margin,"
    " iif(rule_id IS NULL, 0, leaked_bytes) AS suppressed_bytes FROM _leaked_stacks)";

static const char other_source[] = "(SELECT *, 0 AS suppressed_bytes FROM backtrace_totals)";

static int read_weights(struct stack_weights *weights, const struct query *query,
                        int64_t process_id, struct error *err)
{
    const struct stack_measure_columns *measure = &measures[weights->measure].columns;
    struct sqlite3_stmt *stmt = NULL;
    size_t capacity = 0;
    char *sql = sqlite3_mprintf(
        "SELECT backtrace_id, %s, %s, suppressed_bytes, %s, %s FROM %s"
        " WHERE (%s <> 0 OR %s <> 0 OR suppressed_bytes <> 0) AND :process IN (0, process_id) AND (:site = 0"
        " OR backtrace_id IN (SELECT backtrace_id FROM backtraces WHERE call_site_id = :site))"
        " ORDER BY process_id, backtrace_id",
        measure->bytes, measure->blocks, measure->bytes_square, measure->blocks_square,
        weights->measure == STACK_MEASURE_LEAKED ? leaked_source : other_source, measure->bytes,
        measure->blocks);
    int rc = sql ? rundb_prepare(&query->database, sql, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory for a statement");

    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    sqlite3_bind_int64(stmt, 1, process_id);
    sqlite3_bind_int64(stmt, 2, query->options->site_id);
    while ((rc = rundb_step(&query->database, stmt, err)) == 1) {
        rc = add_weight(weights, &capacity, stmt, err);
        if (rc != 0)
            break;
    }
    sqlite3_finalize(stmt);
    merge_weights(weights);
    return rc;
}

/* ---- the stack tree ---- */

static int read_nodes(struct stack_weights *weights, const struct query *query, struct error *err)
{
    struct sqlite3_stmt *stmt;
    size_t n_nodes = 0;
    int rc = database_ids(query->database.handle, "backtraces", "backtrace_id", &n_nodes, err);

    if (rc != 0)
        return rc;
    weights->nodes = calloc(n_nodes, sizeof(*weights->nodes));
    if (!weights->nodes)
        return error_set(err, ERROR_NOMEM, "no memory for %zu stacks", n_nodes);
    weights->n_nodes = (int64_t)n_nodes;
    rc = rundb_prepare(&query->database,
                       "SELECT backtrace_id, ifnull(parent_backtrace_id, 0), frame_id"
                       " FROM backtraces WHERE backtrace_id > 0",
                       &stmt, err);
    while (rc == 0 && (rc = rundb_step(&query->database, stmt, err)) == 1) {
        int64_t id = database_id(stmt, 0, n_nodes);
        struct stack_node *node = &weights->nodes[id];

        /* Ids are in preorder; this check prevents cycles in a damaged file. */
        node->parent_id = database_id(stmt, 1, (size_t)id);
        node->frame_id = sqlite3_column_int64(stmt, 2);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- code ---- */

/* Strings by id, while positions are read. */
struct name_list {
    char **list;
    size_t n;
};

static char *keep_name(struct stack_weights *weights, size_t *capacity, const char *text)
{
    char **names =
        dynamic_array_reserve(weights->names, capacity, weights->n_names + 1, sizeof(*names));
    char *copy;

    if (!names)
        return NULL;
    weights->names = names;
    copy = strdup(text);
    if (copy)
        names[weights->n_names++] = copy;
    return copy;
}

/* Where names of code stand. */
struct name_source {
    const char *table, *id, *name;
};

static int prepare_names(const struct query *query, const struct name_source *source,
                         struct name_list *list, struct sqlite3_stmt **ret, struct error *err)
{
    char sql[128];
    int rc = database_ids(query->database.handle, source->table, source->id, &list->n, err);

    if (rc != 0)
        return rc;
    list->list = calloc(list->n, sizeof(*list->list));
    if (!list->list)
        return error_set(err, ERROR_NOMEM, "no memory for the names of %s", source->table);
    sqlite3_snprintf(sizeof(sql), sql, "SELECT %s, %s FROM %s WHERE %s > 0", source->id,
                     source->name, source->table, source->id);
    return rundb_prepare(&query->database, sql, ret, err);
}

static int read_names(struct stack_weights *weights, const struct query *query,
                      const struct name_source *source, struct name_list *ret_list,
                      size_t *capacity, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    int rc = prepare_names(query, source, ret_list, &stmt, err);

    while (rc == 0 && (rc = rundb_step(&query->database, stmt, err)) == 1) {
        char *text = keep_name(weights, capacity, rundb_text(stmt, 1));
        if (!text) {
            rc = error_set(err, ERROR_NOMEM, "no memory for the names of %s", source->table);
            break;
        }
        ret_list->list[database_id(stmt, 0, ret_list->n)] = text;
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

struct code_names {
    struct name_list functions, raw_names, sources, modules;
};

static const char *name_of(const struct name_list *names, int64_t id)
{
    return id > 0 && (uint64_t)id < names->n ? names->list[id] : NULL;
}

/* A frame without levels gets one unknown position. */
static struct stack_position *add_position(struct stack_weights *weights, size_t *capacity)
{
    struct stack_position *list = dynamic_array_reserve(
        weights->positions, capacity, weights->n_positions + 1, sizeof(*weights->positions));

    if (!list)
        return NULL;
    weights->positions = list;
    return &list[weights->n_positions++];
}

static void fill_level(struct stack_position *position, struct sqlite3_stmt *level,
                       const struct code_names *names)
{
    position->inline_level = sqlite3_column_int(level, 1);
    position->function_id = database_id(level, 2, names->functions.n);
    position->source_id = database_id(level, 3, names->sources.n);
    position->line = sqlite3_column_int64(level, 4);
    position->function = name_of(&names->functions, position->function_id);
    position->raw_name = name_of(&names->raw_names, position->function_id);
    position->source = name_of(&names->sources, position->source_id);
}

/* Merges two tables in the order of the same key: a join would search the levels of each frame. */
struct frame_reader {
    const struct rundb *database;
    struct sqlite3_stmt *frames, *levels;
    int64_t level_frame; /* of the current row of levels; INT64_MAX: no more rows */
};

static int next_level(struct frame_reader *reader, struct error *err)
{
    int rc = rundb_step(reader->database, reader->levels, err);

    reader->level_frame = rc == 1 ? sqlite3_column_int64(reader->levels, 0) : INT64_MAX;
    return rc == 1 ? 0 : rc;
}

static int read_frame(struct frame_reader *reader, struct stack_weights *weights, size_t *capacity,
                      const struct code_names *names, struct error *err)
{
    int64_t frame_id = sqlite3_column_int64(reader->frames, 0);
    bool has_level = false;
    int rc = 0;

    while (rc == 0 && reader->level_frame < frame_id)
        rc = next_level(reader, err);
    while (rc == 0 && (!has_level || reader->level_frame == frame_id)) {
        struct stack_position *position = add_position(weights, capacity);

        if (!position)
            return error_set(err, ERROR_NOMEM, "no memory for %zu frames", *capacity);
        position->frame_id = frame_id;
        position->object_id = database_id(reader->frames, 1, names->modules.n);
        position->object_offset = sqlite3_column_int64(reader->frames, 2);
        position->module = name_of(&names->modules, position->object_id);
        has_level = true;
        if (reader->level_frame != frame_id)
            break;
        fill_level(position, reader->levels, names);
        rc = next_level(reader, err);
    }
    return rc;
}

static int read_frames(struct frame_reader *reader, struct stack_weights *weights,
                       const struct code_names *names, struct error *err)
{
    size_t capacity = 0;
    int64_t next_frame = 0;
    int rc = next_level(reader, err);

    while (rc == 0 && (rc = rundb_step(reader->database, reader->frames, err)) == 1) {
        int64_t frame_id = sqlite3_column_int64(reader->frames, 0);

        rc = 0;
        if (frame_id >= weights->n_frames)
            continue;
        while (next_frame <= frame_id)
            weights->first_position[next_frame++] = weights->n_positions;
        rc = read_frame(reader, weights, &capacity, names, err);
    }
    while (rc == 0 && next_frame <= weights->n_frames)
        weights->first_position[next_frame++] = weights->n_positions;
    return rc;
}

static int read_positions(struct stack_weights *weights, const struct query *query,
                          const struct code_names *names, struct error *err)
{
    struct frame_reader reader = {.database = &query->database};
    int rc = rundb_prepare(reader.database,
                           "SELECT frame_id, object_id, object_offset FROM frames"
                           " WHERE frame_id > 0 ORDER BY frame_id",
                           &reader.frames, err);

    if (rc == 0)
        rc = rundb_prepare(reader.database,
                           "SELECT frame_id, inline_level, function_id, source_id, line"
                           " FROM frame_lines ORDER BY frame_id, inline_level",
                           &reader.levels, err);
    if (rc == 0)
        rc = read_frames(&reader, weights, names, err);
    sqlite3_finalize(reader.frames);
    sqlite3_finalize(reader.levels);
    return rc;
}

static int read_code(struct stack_weights *weights, const struct query *query, struct error *err)
{
    static const struct name_source sources[] = {{"functions", "function_id", "name"},
                                                 {"functions", "function_id", "raw_name"},
                                                 {"sources", "source_id", "path"},
                                                 {"objects", "object_id", "path"}};
    struct code_names names = {0};
    struct name_list *const lists[] = {&names.functions, &names.raw_names, &names.sources,
                                       &names.modules};
    size_t capacity = 0;
    size_t n_frames = 0;
    int rc = database_ids(query->database.handle, "frames", "frame_id", &n_frames, err);

    if (rc != 0)
        return rc;
    weights->first_position = calloc(n_frames + 1, sizeof(*weights->first_position));
    if (!weights->first_position)
        return error_set(err, ERROR_NOMEM, "no memory for %zu frames", n_frames);
    weights->n_frames = (int64_t)n_frames;
    for (size_t i = 0; rc == 0 && i < sizeof(sources) / sizeof(sources[0]); i++)
        rc = read_names(weights, query, &sources[i], lists[i], &capacity, err);
    if (rc == 0)
        rc = read_positions(weights, query, &names, err);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        free(lists[i]->list);
    return rc;
}

/* ---- stacks ---- */

const struct stack_position *stack_weights_frame(const struct stack_weights *weights,
                                                 int64_t frame_id, size_t *ret_n)
{
    *ret_n = 0;
    if (frame_id <= 0 || frame_id >= weights->n_frames)
        return NULL;
    *ret_n = weights->first_position[frame_id + 1] - weights->first_position[frame_id];
    return weights->positions + weights->first_position[frame_id];
}

static bool is_node(const struct stack_weights *weights, int64_t id)
{
    return id > 0 && id < weights->n_nodes;
}

/* Callers come first in the result. */
static void count_positions(struct stack_weights *weights)
{
    for (int64_t id = 1; id < weights->n_nodes; id++) {
        struct stack_node *node = &weights->nodes[id];
        size_t n;

        (void)stack_weights_frame(weights, node->frame_id, &n);
        node->n_positions = weights->nodes[node->parent_id].n_positions + n;
        if (node->n_positions > weights->max_positions)
            weights->max_positions = node->n_positions;
    }
}

size_t stack_weights_positions(const struct stack_weights *weights, int64_t backtrace_id,
                               const struct stack_position **ret_positions)
{
    size_t total = is_node(weights, backtrace_id) ? weights->nodes[backtrace_id].n_positions : 0;
    size_t at = total;

    for (int64_t id = backtrace_id; is_node(weights, id); id = weights->nodes[id].parent_id) {
        size_t n;
        const struct stack_position *frame =
            stack_weights_frame(weights, weights->nodes[id].frame_id, &n);
        for (size_t i = 0; i < n; i++)
            ret_positions[--at] = &frame[i];
    }
    return total;
}

size_t stack_weights_innermost(const struct stack_weights *weights, int64_t backtrace_id,
                               const struct stack_position **ret_positions, size_t n)
{
    size_t at = 0;

    for (int64_t id = backtrace_id; at < n && is_node(weights, id);
         id = weights->nodes[id].parent_id) {
        size_t n_frame;
        const struct stack_position *frame =
            stack_weights_frame(weights, weights->nodes[id].frame_id, &n_frame);
        for (size_t i = 0; i < n_frame && at < n; i++)
            ret_positions[at++] = &frame[i];
    }
    return at;
}

/* Omits weights without a stack in the tree (W-2). */
static void measure_stacks(struct stack_weights *weights)
{
    size_t n = 0;

    count_positions(weights);
    for (size_t i = 0; i < weights->n; i++) {
        int64_t id = weights->list[i].backtrace_id;
        size_t n_positions = is_node(weights, id) ? weights->nodes[id].n_positions : 0;
        if (n_positions == 0)
            continue;
        saturating_grow(&weights->total_bytes, weights->list[i].bytes);
        saturating_grow(&weights->total_blocks, weights->list[i].blocks);
        weights->bytes_square += weights->list[i].bytes_square;
        weights->blocks_square += weights->list[i].blocks_square;
        weights->list[n++] = weights->list[i];
    }
    weights->n = n;
}

int stack_weights_load(struct stack_weights *weights, const struct query *query, int64_t process_id,
                       enum stack_measure measure, struct error *err)
{
    int rc;

    *weights = (struct stack_weights){.database = &query->database, .measure = measure};
    rc = read_weights(weights, query, process_id, err);
    if (rc == 0)
        rc = read_nodes(weights, query, err);
    if (rc == 0)
        rc = read_code(weights, query, err);
    if (rc == 0)
        measure_stacks(weights);
    return rc;
}

void stack_weights_done(struct stack_weights *weights)
{
    for (size_t i = 0; i < weights->n_names; i++)
        free(weights->names[i]);
    free(weights->names);
    free(weights->list);
    free(weights->nodes);
    free(weights->positions);
    free(weights->first_position);
    *weights = (struct stack_weights){0};
}
