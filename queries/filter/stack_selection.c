/* SPDX-License-Identifier: MIT */
#include "queries/filter/stack_selection.h"

#include "lib/base/error.h"
#include "queries/db/rundb.h"

#include <stdlib.h>

int id_set_init(struct id_set *set, const struct rundb *database, const char *table, const char *id,
                struct error *err)
{
    int rc = database_ids(database->handle, table, id, &set->size, err);

    if (rc != 0)
        return rc;
    set->is_member = calloc(set->size, 1);
    return set->is_member ? 0 : error_set(err, ERROR_NOMEM, "no memory for %zu ids", set->size);
}

void id_set_done(struct id_set *set)
{
    free(set->is_member);
    *set = (struct id_set){NULL, 0};
}

bool id_set_has(const struct id_set *set, int64_t id)
{
    return id > 0 && (size_t)id < set->size && set->is_member[id];
}

#define PCRE2_CODE_UNIT_WIDTH 8
#include "lib/base/error.h"
#include "queries/db/rundb.h"
#include "queries/filter/stack_selection.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

static int compile(const char *pattern, pcre2_code **ret_code, struct error *err)
{
    int reason;
    PCRE2_SIZE offset;
    PCRE2_UCHAR text[128];

    *ret_code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &reason, &offset, NULL);
    if (*ret_code) {
        (void)pcre2_jit_compile(*ret_code, PCRE2_JIT_COMPLETE);
        return 0;
    }
    (void)pcre2_get_error_message(reason, text, sizeof(text));
    return error_set(err, ERROR_USAGE, "'%s' is not a regular expression: %s at character %zu",
                     pattern, (char *)text, (size_t)offset + 1);
}

static bool matches(const pcre2_code *code, pcre2_match_data *data, const char *text)
{
    return text
           && pcre2_match(code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, data, NULL) >= 0;
}

/* Adds the ids of the rows (id, text, other text) of which a text matches. */
static int select_matching(const struct rundb *database, const char *sql, const char *pattern,
                           struct id_set *set, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    pcre2_match_data *data = NULL;
    pcre2_code *code;
    int rc = compile(pattern, &code, err);

    if (rc != 0)
        return rc;
    data = pcre2_match_data_create_from_pattern(code, NULL);
    rc = data ? rundb_prepare(database, sql, &stmt, err)
              : error_set(err, ERROR_NOMEM, "no memory for a regex");
    while (rc == 0 && (rc = rundb_step(database, stmt, err)) == 1) {
        int64_t id = database_id(stmt, 0, set->size);
        if (matches(code, data, (const char *)sqlite3_column_text(stmt, 1))
            || matches(code, data, (const char *)sqlite3_column_text(stmt, 2)))
            set->is_member[id] = 1;
        rc = 0;
    }
    sqlite3_finalize(stmt);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return rc;
}

static const char functions_sql[] = "SELECT function_id, name, raw_name FROM functions";
/* Without those that are named by their start, which has the name of the file. */
static const char named_sql[] =
    "SELECT function_id, name, raw_name FROM functions WHERE raw_name NOT GLOB '*+0x*'";
/* Copies of one file are one object, which any of their paths selects. */
static const char objects_sql[] =
    "SELECT object_id, path, NULL FROM objects UNION ALL"
    " SELECT object_id, mapped_path, NULL FROM modules WHERE mapped_path IS NOT NULL";

/* Calls from code without names, as reports print them (views/_sites.sql). */
#define BARE_NAME                                                                              \
    "replace(o.path, rtrim(o.path, replace(o.path, '/', '')), '') || printf(iif((SELECT value" \
    " FROM meta WHERE key = 'names') IS 'recording', ' 0x%x', '+0x%x'), c.object_offset), NULL"

static const char bare_frames_sql[] =
    "SELECT c.frame_id, " BARE_NAME
    " FROM frames AS c JOIN objects AS o ON o.object_id = c.object_id"
    " WHERE c.frame_id IN (SELECT frame_id FROM frame_lines WHERE function_id IS NULL AND source_id IS NULL)";
static const char bare_sites_sql[] =
    "SELECT c.call_site_id, " BARE_NAME
    " FROM call_sites AS c JOIN objects AS o ON o.object_id = c.object_id"
    " WHERE c.object_offset IS NOT NULL";

/* The ids that one kind of pattern selects. Without patterns all pass, even unnamed ones. */
struct part {
    const char *table, *id;
    const char *text_sql;
    const char *const *patterns;
    size_t n_patterns;
    struct id_set set;
};

static int select_part(const struct rundb *database, struct part *part, struct error *err)
{
    int rc = part->n_patterns ? id_set_init(&part->set, database, part->table, part->id, err) : 0;

    for (size_t i = 0; rc == 0 && i < part->n_patterns; i++)
        rc = select_matching(database, part->text_sql, part->patterns[i], &part->set, err);
    return rc;
}

static bool passes(const struct part *part, int64_t id)
{
    return part->n_patterns == 0 || id_set_has(&part->set, id);
}

static int select_frames(const struct rundb *database, const struct part *parts,
                         struct id_set *frames, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(
        database,
        "SELECT l.frame_id, ifnull(l.function_id, -1), ifnull(l.source_id, -1),"
        " ifnull(f.object_id, -1) FROM frame_lines AS l JOIN frames AS f ON f.frame_id = l.frame_id",
        &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(database, stmt, err)) == 1) {
        if (passes(&parts[0], sqlite3_column_int64(stmt, 1))
            && passes(&parts[1], sqlite3_column_int64(stmt, 2))
            && passes(&parts[2], sqlite3_column_int64(stmt, 3)))
            frames->is_member[database_id(stmt, 0, frames->size)] = 1;
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* In preorder a subtree that begins inside the previous one is part of it. */
static int collect_ranges(const struct rundb *database, const struct id_set *frames,
                          char **ret_ranges, struct error *err)
{
    struct sqlite3_str *text;
    struct sqlite3_stmt *stmt;
    int64_t covered = -1;
    int rc = rundb_prepare(
        database,
        "SELECT backtrace_id, last_descendant_id, frame_id FROM backtraces ORDER BY backtrace_id",
        &stmt, err);

    if (rc != 0)
        return rc;
    text = sqlite3_str_new(database->handle);
    sqlite3_str_appendchar(text, 1, '[');
    while ((rc = rundb_step(database, stmt, err)) == 1) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        if (id <= covered || !id_set_has(frames, sqlite3_column_int64(stmt, 2)))
            continue;
        sqlite3_str_appendf(text, "%s[%lld,%lld]", covered < 0 ? "" : ",", (long long)id,
                            (long long)sqlite3_column_int64(stmt, 1));
        covered = sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    sqlite3_str_appendchar(text, 1, ']');
    *ret_ranges = sqlite3_str_finish(text);
    return rc == 0 && !*ret_ranges
               ? error_set(err, ERROR_NOMEM, "no memory for the ranges of a regex")
               : rc;
}

int stack_selection_run(const struct rundb *database, const struct stack_selection *selection,
                        char **ret_ranges, struct error *err)
{
    struct part parts[] = {
        {"functions",
         "function_id",
         functions_sql,
         selection->functions,
         selection->n_functions,
         {NULL, 0}},
        {"sources",
         "source_id",
         "SELECT source_id, path, NULL FROM sources",
         selection->sources,
         selection->n_sources,
         {NULL, 0}},
        {"objects",
         "object_id",
         objects_sql,
         selection->libraries,
         selection->n_libraries,
         {NULL, 0}},
    };
    struct id_set frames = {NULL, 0};
    int rc = 0;

    *ret_ranges = NULL;
    for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
        rc = select_part(database, &parts[i], err);
    if (rc == 0)
        rc = id_set_init(&frames, database, "frames", "frame_id", err);
    if (rc == 0)
        rc = select_frames(database, parts, &frames, err);
    if (rc == 0)
        rc = collect_ranges(database, &frames, ret_ranges, err);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        id_set_done(&parts[i].set);
    id_set_done(&frames);
    return rc;
}

static bool has_any(const struct id_set *set)
{
    return set->size > 1 && memchr(set->is_member + 1, 1, set->size - 1);
}

int stack_selection_code(const struct rundb *database, const char *pattern,
                         struct selected_code *ret_code, bool *ret_is_found, struct error *err)
{
    struct id_set named = {NULL, 0};

    const struct {
        struct id_set *set;
        const char *table, *id, *sql;
    } kinds[] = {{&named, "functions", "function_id", named_sql},
                 {&ret_code->functions, "functions", "function_id", functions_sql},
                 {&ret_code->objects, "objects", "object_id", objects_sql},
                 {&ret_code->frames, "frames", "frame_id", bare_frames_sql},
                 {&ret_code->call_sites, "call_sites", "call_site_id", bare_sites_sql}};

    int rc = 0;

    *ret_is_found = false;
    for (size_t i = 0; rc == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        rc = id_set_init(kinds[i].set, database, kinds[i].table, kinds[i].id, err);
        /* Offsets are matched only if the pattern contains "0x": "add" is a name, not +0xadd. */
        if (rc == 0 && (i < 3 || strstr(pattern, "0x")))
            rc = select_matching(database, kinds[i].sql, pattern, kinds[i].set, err);
        *ret_is_found = *ret_is_found || (rc == 0 && has_any(kinds[i].set));
    }
    ret_code->is_whole_objects = rc == 0 && !has_any(&named);
    id_set_done(&named);
    return rc;
}

void selected_code_done(struct selected_code *code)
{
    id_set_done(&code->functions);
    id_set_done(&code->objects);
    id_set_done(&code->frames);
    id_set_done(&code->call_sites);
}
