/* SPDX-License-Identifier: MIT */
#include "queries/filter/blame.h"

#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "queries/db/rundb.h"
#include "queries/filter/stack_selection.h"

#include <stdint.h>
#include <stdlib.h>

enum {
    N_TARGETS = 4 /* of skipped_code: function, object, source, api_function */
};

/* A place as call_sites states it; 0 is NULL. The key, then its id. */
struct place {
    int64_t function_id;
    int64_t source_id;
    int64_t line;
    int64_t object_id;
    int64_t object_offset;
    int64_t id;
};

static const size_t key_bytes = offsetof(struct place, id);

struct blame {
    const struct rundb *database;
    struct selected_code past;
    struct id_set skipped[N_TARGETS];
    struct hash_map places;
    int64_t n_sites;           /* highest id + 1, with the new ones */
    int64_t *of_frame;         /* the call site that a frame provides; 0: none */
    int64_t *api_of_frame;     /* the one below it in an API function; 0: none */
    int64_t *of_stack;         /* the innermost one provided on the path from the root */
    unsigned char *moves;      /* by call site of the file: its function matches */
    unsigned char *is_named;   /* by frame: a level has a name or a source */
    int64_t *objects;          /* by frame */
    int64_t *frame_of;         /* by stack */
    unsigned char *is_wrapped; /* by stack: the frame is skipped */
    unsigned char *is_part;    /* by stack: of a wrapper, without a name or called as its API */
    size_t n_frames, n_stacks, n_file_sites;
};

typedef int row_fn(struct blame *blame, struct sqlite3_stmt *row, struct error *err);

static int each_row(struct blame *blame, const char *sql, row_fn *on_row, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(blame->database, sql, &stmt, err);

    while (rc == 0 && (rc = rundb_step(blame->database, stmt, err)) == 1)
        rc = on_row(blame, stmt, err);
    sqlite3_finalize(stmt);
    return rc;
}

static int no_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for other call sites");
}

/* ---- what is skipped ---- */

static int read_skipped(struct blame *blame, struct sqlite3_stmt *row, struct error *err)
{
    struct id_set *set = &blame->skipped[sqlite3_column_int(row, 0)];

    (void)err;
    set->is_member[database_id(row, 1, set->size)] = 1;
    return 0;
}

static int read_rules(struct blame *blame, struct error *err)
{
    static const char *const tables[N_TARGETS] = {"functions", "objects", "sources", "functions"};
    static const char *const ids[N_TARGETS] = {"function_id", "object_id", "source_id",
                                               "function_id"};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_TARGETS; i++)
        rc = id_set_init(&blame->skipped[i], blame->database, tables[i], ids[i], err);
    return rc == 0 ? each_row(blame,
                              "SELECT CASE target WHEN 'function' THEN 0 WHEN 'object' THEN 1"
                              " WHEN 'source' THEN 2 ELSE 3 END, id FROM skipped_code",
                              read_skipped, err)
                   : rc;
}

static bool is_past(const struct blame *blame, const struct place *place)
{
    bool is_by_file = blame->past.is_whole_objects || !place->function_id;

    return id_set_has(&blame->past.functions, place->function_id)
           || (is_by_file && id_set_has(&blame->past.objects, place->object_id));
}

/* A place without any name cannot be a call site. */
static bool is_skipped(const struct blame *blame, int64_t frame_id, const struct place *place)
{
    return (!place->function_id && !place->source_id && !place->object_id) || is_past(blame, place)
           || id_set_has(&blame->past.frames, place->function_id ? 0 : frame_id)
           || id_set_has(&blame->skipped[0], place->function_id)
           || id_set_has(&blame->skipped[1], place->object_id)
           || id_set_has(&blame->skipped[2], place->source_id);
}

/* ---- places ---- */

static int read_site(struct blame *blame, struct sqlite3_stmt *row, struct error *err)
{
    struct place key = {sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2),
                        sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4),
                        sqlite3_column_int64(row, 5), 0};
    int64_t id = database_id(row, 0, blame->n_file_sites);
    struct place *place = hash_map_get(&blame->places, &key, key_bytes, sizeof(key));

    if (!place)
        return no_memory(err);
    place->id = place->id ? place->id : id;
    blame->moves[id] = is_past(blame, &key) || id_set_has(&blame->past.call_sites, id);
    return 0;
}

/* Levels come innermost first: the first one that is not skipped provides the frame's call site. */
static int read_level(struct blame *blame, struct sqlite3_stmt *row, struct error *err)
{
    struct place key = {sqlite3_column_int64(row, 1),
                        sqlite3_column_int64(row, 2),
                        sqlite3_column_int64(row, 3),
                        sqlite3_column_int64(row, 4),
                        0,
                        0};
    int64_t frame_id = database_id(row, 0, blame->n_frames);
    int64_t *site = &blame->of_frame[frame_id];
    struct place *place;

    if (key.function_id == 0 && key.source_id == 0 && key.object_id != 0)
        key.object_offset = sqlite3_column_int64(row, 5);
    blame->objects[frame_id] = key.object_id;
    blame->is_named[frame_id] |= key.source_id || !sqlite3_column_int(row, 6);
    if (*site || is_skipped(blame, frame_id, &key))
        return 0;
    if (id_set_has(&blame->skipped[3], key.function_id))
        site = &blame->api_of_frame[frame_id];
    if (*site)
        return 0;
    place = hash_map_get(&blame->places, &key, key_bytes, sizeof(key));
    if (!place)
        return no_memory(err);
    if (!place->id)
        place->id = blame->n_sites++;
    *site = place->id;
    return 0;
}

/* ---- stacks ---- */

/* Ids are in preorder: callers were handled before. */
static int read_stack(struct blame *blame, struct sqlite3_stmt *row, struct error *err)
{
    int64_t id = database_id(row, 0, blame->n_stacks);
    int64_t caller = database_id(row, 1, (size_t)id);
    int64_t frame = database_id(row, 2, blame->n_frames);
    bool is_same_object = blame->objects[frame] == blame->objects[blame->frame_of[caller]];
    bool is_in_wrapper = is_same_object && blame->is_wrapped[caller];
    int64_t offered = blame->of_frame[frame];

    (void)err;
    /* as in the importer: API functions that another object calls, or a wrapper, and functions
     * without a name that a wrapper of their library calls */
    if (blame->api_of_frame[frame] && (!caller || (is_same_object && !is_in_wrapper)))
        offered = blame->api_of_frame[frame];
    if (is_in_wrapper && !blame->is_named[frame] && blame->objects[frame]
        && blame->of_stack[caller])
        offered = 0;
    blame->frame_of[id] = frame;
    blame->is_wrapped[id] = !offered;
    blame->is_part[id] =
        !offered && (is_in_wrapper || blame->is_part[caller] || blame->api_of_frame[frame]);
    blame->of_stack[id] = offered ? offered : blame->of_stack[caller];
    return 0;
}

/* blamed(backtrace_id, call_site_id) */
static void blamed(struct sqlite3_context *context, int n_values, struct sqlite3_value **values)
{
    const struct blame *blame = sqlite3_user_data(context);
    int64_t id = sqlite3_value_int64(values[0]);
    int64_t site = sqlite3_value_int64(values[1]);
    bool moves = site > 0 && (uint64_t)site < blame->n_file_sites && blame->moves[site];
    bool is_known = id > 0 && (uint64_t)id < blame->n_stacks && blame->of_stack[id];

    (void)n_values;
    if (is_known && (moves || blame->is_part[id]))
        sqlite3_result_int64(context, blame->of_stack[id]);
    else
        sqlite3_result_value(context, values[1]);
}

/* ---- tables ---- */

static const char sites_sql[] =
    "CREATE TEMP TABLE call_sites(call_site_id INTEGER PRIMARY KEY, function_id INTEGER, source_id INTEGER,"
    " line INTEGER, object_id INTEGER, object_offset INTEGER);"
    "INSERT INTO temp.call_sites SELECT call_site_id, function_id, source_id, line, object_id, object_offset"
    " FROM main.call_sites";

static const char stacks_sql[] =
    "CREATE TEMP TABLE backtraces(backtrace_id INTEGER PRIMARY KEY, parent_backtrace_id INTEGER,"
    " last_descendant_id INTEGER, frame_id INTEGER, depth INTEGER, call_site_id INTEGER, status TEXT);"
    "INSERT INTO temp.backtraces SELECT backtrace_id, parent_backtrace_id, last_descendant_id, frame_id, depth,"
    " mtrace_blamed(backtrace_id, call_site_id), status FROM main.backtraces";

static int put_sites(struct blame *blame, struct rundb *database, struct error *err)
{
    const struct place *places = blame->places.elements;
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, sites_sql, err);

    if (rc == 0)
        rc = rundb_prepare(database,
                           "INSERT INTO temp.call_sites VALUES (?1, nullif(?2, 0), nullif(?3, 0),"
                           " nullif(?4, 0), nullif(?5, 0), nullif(?6, 0))",
                           &insert, err);
    for (size_t i = 0; rc == 0 && i < blame->places.n; i++) {
        if (places[i].id < (int64_t)blame->n_file_sites)
            continue;
        sqlite3_bind_int64(insert, 1, places[i].id);
        sqlite3_bind_int64(insert, 2, places[i].function_id);
        sqlite3_bind_int64(insert, 3, places[i].source_id);
        sqlite3_bind_int64(insert, 4, places[i].line);
        sqlite3_bind_int64(insert, 5, places[i].object_id);
        sqlite3_bind_int64(insert, 6, places[i].object_offset);
        rc = rundb_step(database, insert, err);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return rc;
}

/* The function lives only as long as the statement. */
static int put_stacks(struct blame *blame, struct rundb *database, struct error *err)
{
    static const char name[] = "mtrace_blamed";
    int rc;

    if (sqlite3_create_function(database->handle, name, 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, blame,
                                blamed, NULL, NULL)
        != SQLITE_OK)
        return rundb_error(database, "reading", err);
    rc = rundb_run(database, stacks_sql, err);
    (void)sqlite3_create_function(database->handle, name, 2, SQLITE_UTF8, NULL, NULL, NULL, NULL);
    return rc;
}

static int reserve(struct blame *blame, struct error *err)
{
    struct sqlite3 *db = blame->database->handle;
    int rc = database_ids(db, "frames", "frame_id", &blame->n_frames, err);

    if (rc == 0)
        rc = database_ids(db, "backtraces", "backtrace_id", &blame->n_stacks, err);
    if (rc == 0)
        rc = database_ids(db, "call_sites", "call_site_id", &blame->n_file_sites, err);
    if (rc != 0)
        return rc;
    blame->n_sites = (int64_t)blame->n_file_sites;
    blame->of_frame = calloc(blame->n_frames, sizeof(*blame->of_frame));
    blame->of_stack = calloc(blame->n_stacks, sizeof(*blame->of_stack));
    blame->moves = calloc(blame->n_file_sites, 1);
    blame->is_named = calloc(blame->n_frames, 1);
    blame->objects = calloc(blame->n_frames, sizeof(*blame->objects));
    blame->api_of_frame = calloc(blame->n_frames, sizeof(*blame->api_of_frame));
    blame->frame_of = calloc(blame->n_stacks, sizeof(*blame->frame_of));
    blame->is_wrapped = calloc(blame->n_stacks, 1);
    blame->is_part = calloc(blame->n_stacks, 1);
    return blame->of_frame && blame->of_stack && blame->is_named && blame->objects
                   && blame->api_of_frame && blame->frame_of && blame->is_wrapped && blame->is_part
                   && blame->moves
               ? 0
               : no_memory(err);
}

static int find(struct blame *blame, const char *pattern, struct error *err)
{
    bool is_found = false;
    int rc = stack_selection_code(blame->database, pattern, &blame->past, &is_found, err);

    if (rc == 0 && !is_found)
        rc = error_set(err, ERROR_USAGE, "no function or module of '%s' matches '%s'",
                       blame->database->path, pattern);
    if (rc == 0)
        rc = read_rules(blame, err);
    if (rc == 0)
        rc = reserve(blame, err);
    if (rc == 0)
        rc = each_row(blame,
                      "SELECT call_site_id, function_id, source_id, line, object_id, object_offset"
                      " FROM main.call_sites WHERE call_site_id > 0 ORDER BY call_site_id",
                      read_site, err);
    if (rc == 0)
        rc = each_row(
            blame,
            "SELECT l.frame_id, l.function_id, l.source_id, l.line, f.object_id, f.object_offset,"
            " coalesce(g.raw_name GLOB '*+0x*', 1) FROM frame_lines AS l"
            " JOIN frames AS f ON f.frame_id = l.frame_id"
            " LEFT JOIN functions AS g ON g.function_id = l.function_id WHERE l.frame_id > 0 ORDER BY l.frame_id, l.inline_level",
            read_level, err);
    return rc == 0 ? each_row(blame,
                              "SELECT backtrace_id, parent_backtrace_id, frame_id"
                              " FROM main.backtraces WHERE backtrace_id > 0 ORDER BY backtrace_id",
                              read_stack, err)
                   : rc;
}

int blame_install(struct rundb *database, const char *pattern, struct error *err)
{
    struct blame blame = {.database = database};
    int rc = find(&blame, pattern, err);

    if (rc == 0)
        rc = put_sites(&blame, database, err);
    if (rc == 0)
        rc = put_stacks(&blame, database, err);
    for (size_t i = 0; i < N_TARGETS; i++)
        id_set_done(&blame.skipped[i]);
    selected_code_done(&blame.past);
    hash_map_done(&blame.places);
    free(blame.of_frame);
    free(blame.of_stack);
    free(blame.is_named);
    free(blame.objects);
    free(blame.api_of_frame);
    free(blame.frame_of);
    free(blame.is_wrapped);
    free(blame.is_part);
    free(blame.moves);
    return rc;
}
