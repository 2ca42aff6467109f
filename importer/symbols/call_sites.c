/* SPDX-License-Identifier: MIT */
#include "importer/symbols/call_sites.h"

#include "importer/write/database.h"
#include "importer/write/total_tables.h"
#include "lib/base/dynamic_array.h"
#include "lib/base/hash_map.h"
#include "lib/sqlite/database_guard.h"
#include "symbolizer/demangle.h"
#include "symbolizer/direct_callers.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A row of call_sites. Ids; 0 is NULL. */
struct site {
    int64_t function_id;
    int64_t source_id;
    int64_t line;
    int64_t object_id;
    int64_t object_offset; /* of the call if the function is unknown: separates sites of a module */
};

enum {
    MANY_CALLERS = 8,         /* of a wrapper without a name, on stacks */
    MANY_DIRECT_CALLERS = 16, /* in the code of its file */
    SHORT_BYTES = 256,        /* of a wrapper, with the check for NULL */
    WRAPPER_GAP_BYTES = 1024  /* between two wrappers of one source file */
};

enum target {
    TARGET_FUNCTION,
    TARGET_OBJECT,
    TARGET_SOURCE,
    TARGET_API_FUNCTION,
    N_TARGETS
};

static const char *const target_names[N_TARGETS] = {"function", "object", "source", "api_function"};

struct rules {
    char **patterns;
    size_t n_patterns, capacity;
};

/* Candidates of a frame for its stacks, as numbers of sites. */
struct frame_site {
    uint32_t unskipped; /* innermost level that no rule skips; 0: there is none */
    uint32_t api;       /* level below it in an API function; 0: there is none */
    uint32_t innermost;
    uint32_t object_id;
    bool is_named; /* a level has a name or a source */
};

struct finder {
    sqlite3 *db;
    const struct definitions *definitions;          /* NULL: read the database */
    const struct definitions_backtrace *backtraces; /* by id; parent and frame are used */
    struct definitions_backtrace *read_backtraces;  /* NULL if definitions is given */
    struct error *err;
    struct rules rules[N_TARGETS];
    bool *is_skipped[N_TARGETS]; /* by id */
    bool *is_new;                /* by function_id: operator new */
    uint64_t *starts;            /* of functions that are named by their start; else 0 */
    size_t n_ids[N_TARGETS];     /* highest id + 1 */
    struct hash_map sites;       /* struct site, which is the whole key; number - 1 */
    struct frame_site *frames;   /* by frame_id */
    size_t n_frames;
    uint32_t *inherited;     /* by backtrace_id: innermost unskipped site; 0: none */
    uint32_t *call_site_ids; /* by backtrace_id */
    bool *is_wrapped;        /* by backtrace_id: the frame is skipped */
    size_t n_backtraces;
    uint32_t *ids; /* by site number - 1: its call_site_id; 0: no stack has it */
    uint32_t n_ids_given;
    sqlite3_stmt *insert;
};

static int no_memory(struct finder *finder)
{
    return error_set(finder->err, ERROR_NOMEM, "no memory to find the call sites");
}

static int database_failure(struct finder *finder)
{
    return database_error(finder->db, finder->err);
}

/* Calls on_row for each row; a result other than 0 ends the reading. */
typedef int row_fn(struct finder *finder, sqlite3_stmt *statement);

static int each_row(struct finder *finder, const char *sql, row_fn *on_row)
{
    sqlite3_stmt *statement;
    int step = SQLITE_DONE;
    int status = database_prepare(finder->db, sql, &statement, finder->err);

    if (status)
        return status;
    while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
        status = on_row(finder, statement);
    if (status == 0 && step != SQLITE_DONE)
        status = database_failure(finder);
    sqlite3_finalize(statement);
    return status;
}

/* ---- rules ---- */

static int read_rule(struct finder *finder, sqlite3_stmt *statement)
{
    const char *target = (const char *)sqlite3_column_text(statement, 0);
    const char *pattern = (const char *)sqlite3_column_text(statement, 1);

    for (size_t i = 0; target && pattern && i < N_TARGETS; i++) {
        struct rules *rules = &finder->rules[i];
        char **patterns;
        if (strcmp(target_names[i], target) != 0)
            continue;
        patterns = dynamic_array_reserve(rules->patterns, &rules->capacity, rules->n_patterns + 1,
                                         sizeof(*patterns));
        if (!patterns)
            return no_memory(finder);
        rules->patterns = patterns;
        patterns[rules->n_patterns] = strdup(pattern);
        if (!rules->patterns[rules->n_patterns++])
            return no_memory(finder);
    }
    return 0;
}

static bool is_matched(const struct rules *rules, const char *text)
{
    for (size_t i = 0; i < rules->n_patterns; i++)
        if (sqlite3_strglob(rules->patterns[i], text) == 0)
            return true;
    return false;
}

static void mark(struct finder *finder, enum target target, sqlite3_stmt *statement,
                 const char *text)
{
    int64_t id = database_id(statement, 0, finder->n_ids[target]);

    if (text && id)
        finder->is_skipped[target][id] = is_matched(&finder->rules[target], text);
}

static int mark_function(struct finder *finder, sqlite3_stmt *statement)
{
    const char *raw_name = (const char *)sqlite3_column_text(statement, 1);
    const char *start = raw_name ? strstr(raw_name, "+0x") : NULL;
    char *qualified = raw_name ? demangle_qualified(raw_name) : NULL;
    int64_t id = database_id(statement, 0, finder->n_ids[TARGET_FUNCTION]);

    mark(finder, TARGET_FUNCTION, statement, qualified ? qualified : raw_name);
    mark(finder, TARGET_API_FUNCTION, statement, qualified ? qualified : raw_name);
    if (start)
        finder->starts[id] = strtoull(start + 1, NULL, 16);
    finder->is_new[id] = raw_name && strncmp(raw_name, "_Zn", 3) == 0;
    free(qualified);
    return 0;
}

static int mark_object(struct finder *finder, sqlite3_stmt *statement)
{
    mark(finder, TARGET_OBJECT, statement, (const char *)sqlite3_column_text(statement, 1));
    return 0;
}

static int mark_source(struct finder *finder, sqlite3_stmt *statement)
{
    mark(finder, TARGET_SOURCE, statement, (const char *)sqlite3_column_text(statement, 1));
    return 0;
}

static int read_sizes(struct finder *finder)
{
    static const char *const tables[N_TARGETS] = {"functions", "objects", "sources", "functions"};
    static const char *const ids[N_TARGETS] = {"function_id", "object_id", "source_id",
                                               "function_id"};
    int status = database_ids(finder->db, "frames", "frame_id", &finder->n_frames, finder->err);

    if (finder->definitions)
        finder->n_backtraces = finder->definitions->n_backtraces + 1;
    else if (status == 0)
        status = database_ids(finder->db, "backtraces", "backtrace_id", &finder->n_backtraces,
                              finder->err);
    for (int i = 0; status == 0 && i < N_TARGETS; i++) {
        status = database_ids(finder->db, tables[i], ids[i], &finder->n_ids[i], finder->err);
        if (status == 0 && !(finder->is_skipped[i] = calloc(finder->n_ids[i], sizeof(bool))))
            status = no_memory(finder);
    }
    if (status)
        return status;
    finder->frames = calloc(finder->n_frames, sizeof(*finder->frames));
    finder->inherited = calloc(finder->n_backtraces, sizeof(*finder->inherited));
    finder->call_site_ids = calloc(finder->n_backtraces, sizeof(*finder->call_site_ids));
    finder->is_wrapped = calloc(finder->n_backtraces, sizeof(*finder->is_wrapped));
    finder->starts = calloc(finder->n_ids[TARGET_FUNCTION], sizeof(*finder->starts));
    finder->is_new = calloc(finder->n_ids[TARGET_FUNCTION], sizeof(*finder->is_new));
    return finder->frames && finder->inherited && finder->call_site_ids && finder->is_wrapped
                   && finder->starts && finder->is_new
               ? 0
               : no_memory(finder);
}

static int apply_rules(struct finder *finder)
{
    int status =
        each_row(finder, "SELECT target, pattern FROM call_site_rules ORDER BY rule", read_rule);

    if (status == 0)
        status = read_sizes(finder);
    if (status == 0)
        status = each_row(finder, "SELECT function_id, raw_name FROM functions", mark_function);
    if (status == 0)
        status = each_row(finder, "SELECT object_id, path FROM objects", mark_object);
    if (status == 0)
        status = each_row(finder, "SELECT source_id, path FROM sources", mark_source);
    return status;
}

/* For queries that derive other call sites. */
static int write_skipped(struct finder *finder)
{
    sqlite3_stmt *insert = NULL;
    int status = database_execute(finder->db, "DELETE FROM skipped_code", finder->err);

    if (status == 0)
        status = database_prepare(finder->db, "INSERT INTO skipped_code VALUES (?, ?)", &insert,
                                  finder->err);
    for (size_t target = 0; status == 0 && target < N_TARGETS; target++) {
        for (size_t id = 1; status == 0 && id < finder->n_ids[target]; id++)
            if (finder->is_skipped[target][id])
                status =
                    database_insert(insert, finder->err, "ti", target_names[target], (int64_t)id);
    }
    sqlite3_finalize(insert);
    return status;
}

static bool is_skipped(const struct finder *finder, enum target target, int64_t id)
{
    return id > 0 && (uint64_t)id < finder->n_ids[target] && finder->is_skipped[target][id];
}

/* ---- sites ---- */

static int number_site(struct finder *finder, const struct site *site, uint32_t *ret_number)
{
    const struct site *known = hash_map_get(&finder->sites, site, sizeof(*site), sizeof(*site));

    if (!known)
        return no_memory(finder);
    *ret_number = (uint32_t)(known - (const struct site *)finder->sites.elements) + 1;
    return 0;
}

/* Levels come innermost first. */
static int read_level(struct finder *finder, sqlite3_stmt *statement)
{
    int64_t frame_id = database_id(statement, 0, finder->n_frames);
    struct site site = {.function_id = database_id(statement, 1, finder->n_ids[TARGET_FUNCTION]),
                        .source_id = sqlite3_column_int64(statement, 2),
                        .line = sqlite3_column_int64(statement, 3),
                        .object_id = sqlite3_column_int64(statement, 4)};
    struct frame_site *frame;
    bool skips = is_skipped(finder, TARGET_FUNCTION, site.function_id)
                 || is_skipped(finder, TARGET_OBJECT, site.object_id)
                 || is_skipped(finder, TARGET_SOURCE, site.source_id);
    int status = 0;

    if (site.function_id == 0 && site.source_id == 0 && site.object_id != 0)
        site.object_offset = sqlite3_column_int64(statement, 5);
    if (!frame_id)
        return 0;
    frame = &finder->frames[frame_id];
    if (site.source_id || (site.function_id && !finder->starts[site.function_id]))
        frame->is_named = true;
    frame->object_id = (uint32_t)site.object_id;
    if (!frame->innermost)
        status = number_site(finder, &site, &frame->innermost);
    if (status || frame->unskipped || skips)
        return status;
    if (!is_skipped(finder, TARGET_API_FUNCTION, site.function_id))
        return number_site(finder, &site, &frame->unskipped);
    return frame->api ? 0 : number_site(finder, &site, &frame->api);
}

static int read_backtrace(struct finder *finder, sqlite3_stmt *statement)
{
    int64_t id = database_id(statement, 0, finder->n_backtraces);

    finder->read_backtraces[id].parent = (uint32_t)database_id(statement, 1, (size_t)id);
    finder->read_backtraces[id].frame = (uint32_t)database_id(statement, 2, finder->n_frames);
    return 0;
}

static int read_backtraces(struct finder *finder)
{
    if (finder->definitions) {
        finder->backtraces = finder->definitions->backtraces;
        return 0;
    }
    finder->read_backtraces = calloc(finder->n_backtraces, sizeof(*finder->read_backtraces));
    finder->backtraces = finder->read_backtraces;
    return finder->backtraces
               ? each_row(finder,
                          "SELECT backtrace_id, parent_backtrace_id, frame_id FROM backtraces",
                          read_backtrace)
               : no_memory(finder);
}

/* ---- wrappers without a name ---- */

/* A function that is named by its start. */
struct nameless {
    int64_t object_id;
    int64_t function_id; /* the key ends here */
    uint64_t start;
    size_t n_callers;
    bool calls_unskipped;
    bool calls_new; /* as functions do that make one kind of object */
};

struct call {
    int64_t callee; /* function_id */
    int64_t caller; /* function_id, or -frame_id */
};

/* Of the function of a stack. */
struct callees {
    bool has_new, has_unskipped;
};

static const struct site *innermost_site(const struct finder *finder, uint32_t id)
{
    uint32_t number = finder->frames[finder->backtraces[id].frame].innermost;

    return number ? (const struct site *)finder->sites.elements + number - 1 : NULL;
}

static int64_t caller_of(const struct finder *finder, uint32_t id)
{
    uint32_t parent = finder->backtraces[id].parent;
    const struct site *site = parent ? innermost_site(finder, parent) : NULL;

    return !site               ? 0
           : site->function_id ? site->function_id
                               : -(int64_t)finder->backtraces[parent].frame;
}

static int note_call(struct finder *finder, uint32_t id, struct callees callees,
                     struct hash_map *functions, struct hash_map *calls)
{
    const struct frame_site *frame = &finder->frames[finder->backtraces[id].frame];
    const struct site *site = innermost_site(finder, id);
    struct nameless key = {.function_id = site ? site->function_id : 0};
    struct call call = {key.function_id, caller_of(finder, id)};
    size_t n_calls = calls->n;
    struct nameless *function;

    if (frame->is_named || !frame->unskipped || !key.function_id)
        return 0;
    key.object_id = site->object_id;
    function = hash_map_get(functions, &key, offsetof(struct nameless, start), sizeof(key));
    if (!function || !hash_map_get(calls, &call, sizeof(call), sizeof(call)))
        return no_memory(finder);
    function->start = finder->starts[key.function_id];
    function->n_callers += calls->n - n_calls;
    function->calls_unskipped |= callees.has_unskipped;
    function->calls_new |= callees.has_new;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct nameless *one = a;
    const struct nameless *other = b;

    if (one->object_id != other->object_id)
        return one->object_id < other->object_id ? -1 : 1;
    return one->start < other->start ? -1 : one->start > other->start;
}

/* Functions between two wrappers are of the same source file, which has wrappers only. The
 * functions are sorted by start. */
static void skip_wrappers(struct finder *finder, const struct hash_map *functions)
{
    struct nameless *all = functions->elements;
    const struct nameless *last = NULL;

    for (struct nameless *next = all; next < all + functions->n; next++) {
        const struct nameless *first = next;
        if (next->n_callers < MANY_CALLERS || next->calls_unskipped)
            continue;
        if (last && last->object_id == next->object_id
            && next->start - last->start < WRAPPER_GAP_BYTES)
            first = last;
        for (; first <= next; first++)
            finder->is_skipped[TARGET_FUNCTION][first->function_id] = true;
        last = next;
    }
    for (size_t i = 0; i < finder->n_frames; i++) {
        struct frame_site *frame = &finder->frames[i];
        const struct site *sites = finder->sites.elements;
        if (frame->unskipped && !frame->is_named
            && is_skipped(finder, TARGET_FUNCTION, sites[frame->unskipped - 1].function_id))
            frame->unskipped = 0;
    }
}

/* Counts the callers of functions that few others called in this run: of one object. */
static int count_direct_callers(struct finder *finder, struct nameless *functions, size_t n)
{
    struct direct_callers *list = calloc(n, sizeof(*list));
    sqlite3_stmt *row = NULL;
    size_t n_listed = 0;
    int status = list ? database_prepare(finder->db,
                                         "SELECT path, build_id FROM objects WHERE object_id = ?1",
                                         &row, finder->err)
                      : no_memory(finder);

    for (size_t i = 0; status == 0 && i < n; i++)
        if (!functions[i].calls_new && !functions[i].calls_unskipped
            && functions[i].n_callers < MANY_CALLERS)
            list[n_listed++].start = functions[i].start;
    if (n_listed) {
        sqlite3_bind_int64(row, 1, functions->object_id);
        if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
            direct_callers_count((const char *)sqlite3_column_text(row, 0),
                                 (const char *)sqlite3_column_text(row, 1), SHORT_BYTES, list,
                                 n_listed);
    }
    sqlite3_finalize(row);
    for (size_t i = 0, at = 0; at < n_listed; i++) {
        if (functions[i].start != list[at].start)
            continue;
        if (list[at++].n >= MANY_DIRECT_CALLERS)
            functions[i].n_callers = MANY_CALLERS;
    }
    free(list);
    return status;
}

static int count_callers(struct finder *finder, const struct hash_map *functions)
{
    struct nameless *all = functions->elements;
    size_t n;
    int status = 0;

    if (functions->n)
        qsort(all, functions->n, sizeof(*all), by_start);
    for (size_t i = 0; status == 0 && i < functions->n; i += n) {
        for (n = 1; i + n < functions->n && all[i + n].object_id == all[i].object_id;)
            n++;
        status = count_direct_callers(finder, all + i, n);
    }
    return status;
}

/* In a stripped program no rule knows the wrappers of malloc. They are functions that many others
 * call, and that call nothing but libc. */
static int find_nameless_wrappers(struct finder *finder)
{
    struct callees *callees = calloc(finder->n_backtraces, sizeof(*callees));
    struct hash_map functions = {0};
    struct hash_map calls = {0};
    int status = callees ? 0 : no_memory(finder);

    for (uint32_t id = 1; status == 0 && id < finder->n_backtraces; id++) {
        const struct frame_site *frame = &finder->frames[finder->backtraces[id].frame];
        const struct site *site = innermost_site(finder, id);
        struct callees *of_caller = &callees[finder->backtraces[id].parent];
        of_caller->has_new |= site && finder->is_new[site->function_id];
        if (!is_skipped(finder, TARGET_OBJECT, frame->object_id))
            of_caller->has_unskipped = true;
    }
    for (uint32_t id = 1; status == 0 && id < finder->n_backtraces; id++)
        status = note_call(finder, id, callees[id], &functions, &calls);
    if (status == 0)
        status = count_callers(finder, &functions);
    if (status == 0)
        skip_wrappers(finder, &functions);
    hash_map_done(&functions);
    hash_map_done(&calls);
    free(callees);
    return status;
}

/* ---- stacks ---- */

/* Assigns ids on first use, so that call_sites has no unused rows. */
static int give_id(struct finder *finder, uint32_t number, uint32_t *ret_id)
{
    const struct site *site;

    *ret_id = number ? finder->ids[number - 1] : 0;
    if (number == 0 || *ret_id)
        return 0;
    *ret_id = finder->ids[number - 1] = ++finder->n_ids_given;
    site = (const struct site *)finder->sites.elements + number - 1;
    return database_insert(finder->insert, finder->err, "izzzzz", (int64_t)*ret_id,
                           (uint64_t)site->function_id, (uint64_t)site->source_id,
                           (uint64_t)site->line, (uint64_t)site->object_id,
                           (uint64_t)site->object_offset);
}

/* A function without a name that a wrapper of its library calls is a part of the wrapper. */
static bool is_in_wrapper(const struct finder *finder, uint32_t parent, struct frame_site frame)
{
    return !frame.is_named && frame.object_id && finder->inherited[parent]
           && finder->is_wrapped[parent]
           && finder->frames[finder->backtraces[parent].frame].object_id == frame.object_id;
}

/* An API function is blamed for calls by its own library only. */
static bool is_called_as_api(const struct finder *finder, uint32_t parent, struct frame_site frame)
{
    return parent
           && (finder->is_wrapped[parent]
               || finder->frames[finder->backtraces[parent].frame].object_id != frame.object_id);
}

/* Called in preorder: the parent has a lower id and was placed before. */
static int place(struct finder *finder, uint32_t id)
{
    struct frame_site frame = finder->frames[finder->backtraces[id].frame];
    uint32_t parent = finder->backtraces[id].parent;
    uint32_t own =
        frame.api && !is_called_as_api(finder, parent, frame) ? frame.api : frame.unskipped;
    uint32_t number;

    finder->is_wrapped[id] = !own || is_in_wrapper(finder, parent, frame);
    number = finder->is_wrapped[id] ? finder->inherited[parent] : own;
    finder->inherited[id] = number;
    return give_id(finder, number ? number : frame.innermost, &finder->call_site_ids[id]);
}

static void call_site_of(sqlite3_context *context, int n_values, sqlite3_value **values)
{
    const struct finder *finder = sqlite3_user_data(context);
    int64_t id = sqlite3_value_int64(values[0]);

    (void)n_values;
    if (id > 0 && (uint64_t)id < finder->n_backtraces && finder->call_site_ids[id])
        sqlite3_result_int64(context, finder->call_site_ids[id]);
}

/* Updates all rows in one statement, through an SQL function that exists only during it. */
static int update_rows(struct finder *finder)
{
    static const char name[] = "mtrace_call_site";
    int status;

    if (sqlite3_create_function(finder->db, name, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, finder,
                                call_site_of, NULL, NULL))
        return database_failure(finder);
    status = database_execute(finder->db,
                              "UPDATE backtraces SET call_site_id = mtrace_call_site(backtrace_id)",
                              finder->err);
    sqlite3_create_function(finder->db, name, 1, SQLITE_UTF8, NULL, NULL, NULL, NULL);
    return status;
}

static int write_sites(struct finder *finder)
{
    int status = database_execute(finder->db, "DELETE FROM call_sites", finder->err);

    finder->ids = calloc(finder->sites.n + 1, sizeof(*finder->ids));
    if (status == 0 && !finder->ids)
        status = no_memory(finder);
    if (status == 0)
        status = database_prepare(finder->db,
                                  "INSERT INTO call_sites(call_site_id, function_id, source_id, "
                                  "line, object_id, object_offset) VALUES (?, ?, ?, ?, ?, ?)",
                                  &finder->insert, finder->err);
    for (uint32_t id = 1; status == 0 && id < finder->n_backtraces; id++)
        status = place(finder, id);
    if (status)
        return status;
    return finder->definitions ? backtrace_rows_write(finder->db, finder->definitions,
                                                      finder->call_site_ids, finder->err)
                               : update_rows(finder);
}

static void done(struct finder *finder)
{
    for (size_t target = 0; target < N_TARGETS; target++) {
        for (size_t i = 0; i < finder->rules[target].n_patterns; i++)
            free(finder->rules[target].patterns[i]);
        free(finder->rules[target].patterns);
        free(finder->is_skipped[target]);
    }
    sqlite3_finalize(finder->insert);
    hash_map_done(&finder->sites);
    free(finder->frames);
    free(finder->inherited);
    free(finder->call_site_ids);
    free(finder->is_wrapped);
    free(finder->starts);
    free(finder->is_new);
    free(finder->read_backtraces);
    free(finder->ids);
}

int call_sites_write(sqlite3 *db, const struct definitions *definitions,
                     struct site_of_stack *ret_sites, struct error *err)
{
    struct finder finder = {.db = db, .definitions = definitions, .err = err};
    int status = apply_rules(&finder);

    if (status == 0)
        status = each_row(
            &finder,
            "SELECT l.frame_id, l.function_id, l.source_id, l.line, f.object_id, f.object_offset "
            "FROM frame_lines AS l JOIN frames AS f ON f.frame_id = l.frame_id "
            "ORDER BY l.frame_id, l.inline_level",
            read_level);
    if (status == 0)
        status = read_backtraces(&finder);
    if (status == 0)
        status = find_nameless_wrappers(&finder);
    if (status == 0)
        status = write_skipped(&finder);
    if (status == 0)
        status = write_sites(&finder);
    if (status == 0 && ret_sites) {
        *ret_sites = (struct site_of_stack){finder.call_site_ids, finder.n_backtraces};
        finder.call_site_ids = NULL;
    }
    done(&finder);
    return status;
}
