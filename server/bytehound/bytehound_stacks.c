/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound_stacks.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/json_text.h"
#include "lib/base/saturating.h"
#include "server/bytehound/bytehound_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DEPTH = 1 << 20 /* of a stack of a damaged database */
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for stacks");
}

/* ---- the tree ---- */

static int64_t id_below(sqlite3_int64 id, int64_t limit)
{
    return id > 0 && id < limit ? id : 0;
}

static const char nodes_sql[] =
    "SELECT backtrace_id, parent_backtrace_id, last_descendant_id, frame_id FROM backtraces";

static const char allocations_sql[] =
    "SELECT backtrace_id, allocated_blocks FROM main.backtrace_totals";

static void take_node(struct bytehound_stacks *stacks, struct sqlite3_stmt *stmt)
{
    int64_t id = id_below(sqlite3_column_int64(stmt, 0), stacks->n_nodes);

    if (!id)
        return;
    stacks->nodes[id] =
        (struct bytehound_node){.parent = id_below(sqlite3_column_int64(stmt, 1), id),
                                .last = id_below(sqlite3_column_int64(stmt, 2), stacks->n_nodes),
                                .frame = id_below(sqlite3_column_int64(stmt, 3), stacks->n_frames)};
}

static void take_allocations(struct bytehound_stacks *stacks, struct sqlite3_stmt *stmt)
{
    int64_t id = id_below(sqlite3_column_int64(stmt, 0), stacks->n_nodes);

    saturating_grow(&stacks->nodes[id].n_allocations, sqlite3_column_int64(stmt, 1));
}

static int load_rows(struct bytehound_stacks *stacks, const struct bytehound *self, const char *sql,
                     void (*take)(struct bytehound_stacks *stacks, struct sqlite3_stmt *stmt),
                     struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&self->database, sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&self->database, stmt, err)) == 1)
        take(stacks, stmt);
    sqlite3_finalize(stmt);
    return rc;
}

/* Ids are in preorder: a counted frame covers all stacks up to the last one below it. */
static int count_frames(struct bytehound_stacks *stacks, struct error *err)
{
    int64_t *covered = calloc((size_t)stacks->n_frames + 1, sizeof(*covered));
    int64_t *sums = calloc((size_t)stacks->n_nodes + 1, sizeof(*sums));

    for (int64_t id = 1; sums && id < stacks->n_nodes; id++)
        sums[id] = saturating_add(sums[id - 1], stacks->nodes[id].n_allocations);
    for (int64_t id = 1; covered && sums && id < stacks->n_nodes; id++) {
        const struct bytehound_node *node = &stacks->nodes[id];

        if (!node->frame || node->last < id || covered[node->frame] >= id)
            continue;
        saturating_grow(&stacks->counts[node->frame],
                        saturating_subtract(sums[node->last], sums[id - 1]));
        covered[node->frame] = node->last;
    }
    free(covered);
    free(sums);
    return covered && sums ? 0 : out_of_memory(err);
}

/* ---- frames ---- */

/* A table of texts, each once; NULL for an id without a row. */
struct names {
    const char **first, **second; /* by id */
    int64_t n;
};

struct frames {
    int64_t *object, *offset; /* by frame id */
    struct names functions, sources, objects;
    int64_t *load_addresses; /* by object id: in the first process that mapped it */
};

static void forget(struct frames *frames)
{
    struct names *const all[] = {&frames->functions, &frames->sources, &frames->objects};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(all[i]->first);
        free(all[i]->second);
    }
    free(frames->object);
    free(frames->offset);
    free(frames->load_addresses);
}

/* NULL: none, or no memory; then n_texts did not grow. */
static const char *keep(struct bytehound_stacks *stacks, const char *text)
{
    char **larger = text ? dynamic_array_reserve(stacks->texts, &stacks->texts_capacity,
                                                 stacks->n_texts + 1, sizeof(char *))
                         : NULL;

    if (!larger)
        return NULL;
    stacks->texts = larger;
    larger[stacks->n_texts] = strdup(text);
    return larger[stacks->n_texts] ? larger[stacks->n_texts++] : NULL;
}

static const char *name_at(const struct names *names, const char *const *texts, int64_t id)
{
    return texts && id > 0 && id < names->n ? texts[id] : NULL;
}

static int count_ids(const struct bytehound *self, const char *table, const char *id,
                     int64_t *ret_n, struct error *err)
{
    size_t n = 0;
    int rc = database_ids(self->database.handle, table, id, &n, err);

    *ret_n = (int64_t)n;
    return rc;
}

/* The statement has id, text, and maybe a second text. */
static int load_names(struct bytehound_stacks *stacks, const struct bytehound *self,
                      struct names *names, const char *sql, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc;

    names->first = calloc((size_t)names->n, sizeof(*names->first));
    names->second = calloc((size_t)names->n, sizeof(*names->second));
    if (!names->first || !names->second)
        return out_of_memory(err);
    rc = rundb_prepare(&self->database, sql, &stmt, err);
    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&self->database, stmt, err)) == 1) {
        int64_t id = database_id(stmt, 0, (size_t)names->n);

        names->first[id] = keep(stacks, (const char *)sqlite3_column_text(stmt, 1));
        if (sqlite3_column_count(stmt) > 2)
            names->second[id] = keep(stacks, (const char *)sqlite3_column_text(stmt, 2));
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* Keeps the number of the first row of each id. */
static int load_numbers(const struct bytehound *self, const char *sql, int64_t *first,
                        int64_t *second, int64_t n, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&self->database, sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&self->database, stmt, err)) == 1) {
        int64_t id = id_below(sqlite3_column_int64(stmt, 0), n);

        first[id] = sqlite3_column_int64(stmt, 1);
        if (second)
            second[id] = sqlite3_column_int64(stmt, 2);
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int load_frames(struct bytehound_stacks *stacks, const struct bytehound *self,
                       struct frames *frames, struct error *err)
{
    int rc = count_ids(self, "functions", "function_id", &frames->functions.n, err);

    if (rc == 0)
        rc = count_ids(self, "sources", "source_id", &frames->sources.n, err);
    if (rc == 0)
        rc = count_ids(self, "objects", "object_id", &frames->objects.n, err);
    if (rc != 0)
        return rc;
    frames->object = calloc((size_t)stacks->n_frames, sizeof(*frames->object));
    frames->offset = calloc((size_t)stacks->n_frames, sizeof(*frames->offset));
    frames->load_addresses = calloc((size_t)frames->objects.n, sizeof(*frames->load_addresses));
    if (!frames->object || !frames->offset || !frames->load_addresses)
        return out_of_memory(err);
    rc = load_names(stacks, self, &frames->functions,
                    "SELECT function_id, name, raw_name FROM functions", err);
    if (rc == 0)
        rc = load_names(stacks, self, &frames->sources, "SELECT source_id, path FROM sources", err);
    if (rc == 0)
        rc = load_names(stacks, self, &frames->objects, "SELECT object_id, path FROM objects", err);
    if (rc == 0)
        rc = load_numbers(self, "SELECT frame_id, object_id, object_offset FROM frames",
                          frames->object, frames->offset, stacks->n_frames, err);
    if (rc == 0)
        rc = load_numbers(self,
                          "SELECT object_id, load_address FROM modules ORDER BY module_id DESC",
                          frames->load_addresses, NULL, frames->objects.n, err);
    return rc;
}

static void take_level(struct bytehound_stacks *stacks, const struct frames *frames,
                       struct sqlite3_stmt *stmt)
{
    int64_t frame = id_below(sqlite3_column_int64(stmt, 0), stacks->n_frames);
    int64_t function = sqlite3_column_int64(stmt, 1);
    int64_t source = sqlite3_column_int64(stmt, 2);
    int64_t object = id_below(frames->object[frame], frames->objects.n);

    stacks->levels[stacks->n_levels++] = (struct bytehound_level){
        .frame = frame,
        .function = name_at(&frames->functions, frames->functions.first, function),
        .raw_function = name_at(&frames->functions, frames->functions.second, function),
        .source = name_at(&frames->sources, frames->sources.first, source),
        .line = sqlite3_column_int64(stmt, 3),
        .column = sqlite3_column_int64(stmt, 4),
        .library = name_at(&frames->objects, frames->objects.first, object),
        .address = saturating_add(frames->offset[frame], frames->load_addresses[object])};
}

/* The database has the innermost level first; the outermost is the function that was called. */
static void turn_round(struct bytehound_level *levels, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct bytehound_level level = levels[i];

        levels[i] = levels[n - 1 - i];
        levels[n - 1 - i] = level;
    }
    for (size_t i = 1; i < n; i++)
        levels[i].is_inline = true;
}

/* Sets where the levels of each frame begin; frames without levels get none. */
static void find_first_levels(struct bytehound_stacks *stacks)
{
    size_t at = 0;

    for (int64_t frame = 0; frame <= stacks->n_frames; frame++) {
        size_t first = at;

        stacks->first_level[frame] = first;
        while (at < stacks->n_levels && stacks->levels[at].frame <= frame)
            at++;
        turn_round(stacks->levels + first, at - first);
    }
}

/* In the order of the primary key, so SQLite need not sort. */
static int load_levels(struct bytehound_stacks *stacks, const struct bytehound *self,
                       size_t n_expected, struct error *err)
{
    struct frames frames = {0};
    struct sqlite3_stmt *stmt = NULL;
    int rc = load_frames(stacks, self, &frames, err);

    if (rc == 0)
        rc = rundb_prepare(&self->database,
                           "SELECT frame_id, function_id, source_id, line, column_number"
                           " FROM frame_lines ORDER BY frame_id, inline_level",
                           &stmt, err);
    if (rc == 0) {
        while ((rc = rundb_step(&self->database, stmt, err)) == 1 && stacks->n_levels < n_expected)
            take_level(stacks, &frames, stmt);
        sqlite3_finalize(stmt);
        find_first_levels(stacks);
    }
    forget(&frames);
    return rc == 1 ? 0 : rc;
}

/* ---- loading ---- */

static int count_rows(const struct bytehound *self, int64_t counts[static 3], struct error *err)
{
    static const char *const sql[] = {"SELECT max(backtrace_id) FROM backtraces",
                                      "SELECT max(frame_id) FROM frames",
                                      "SELECT count(*) FROM frame_lines"};
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++) {
        rc = rundb_get_int64(&self->database, sql[i], &counts[i], err);
        if (rc == 0 && (counts[i] < 0 || counts[i] >= INT32_MAX))
            rc =
                error_set(err, ERROR_FORMAT, "'%s' has invalid ids of stacks", self->database.path);
    }
    return rc;
}

int bytehound_stacks_load(struct bytehound_stacks *stacks, const struct bytehound *self,
                          struct error *err)
{
    int64_t counts[3] = {0};
    int rc;

    *stacks = (struct bytehound_stacks){0};
    rc = count_rows(self, counts, err);
    if (rc != 0)
        return rc;
    stacks->n_nodes = counts[0] + 1;
    stacks->n_frames = counts[1] + 1;
    stacks->nodes = calloc((size_t)stacks->n_nodes, sizeof(*stacks->nodes));
    stacks->counts = calloc((size_t)stacks->n_frames, sizeof(*stacks->counts));
    stacks->first_level = calloc((size_t)stacks->n_frames + 1, sizeof(*stacks->first_level));
    stacks->levels = calloc((size_t)counts[2] + 1, sizeof(*stacks->levels));
    if (!stacks->nodes || !stacks->counts || !stacks->first_level || !stacks->levels)
        return out_of_memory(err);
    rc = load_rows(stacks, self, nodes_sql, take_node, err);
    if (rc == 0)
        rc = load_rows(stacks, self, allocations_sql, take_allocations, err);
    if (rc == 0)
        rc = load_levels(stacks, self, (size_t)counts[2], err);
    return rc == 0 ? count_frames(stacks, err) : rc;
}

void bytehound_stacks_done(struct bytehound_stacks *stacks)
{
    for (size_t i = 0; i < stacks->n_texts; i++)
        free(stacks->texts[i]);
    free(stacks->texts);
    free(stacks->nodes);
    free(stacks->counts);
    free(stacks->first_level);
    free(stacks->levels);
}

/* ---- as JSON ---- */

bool bytehound_stacks_has(const struct bytehound_stacks *stacks, int64_t id)
{
    return id > 0 && id < stacks->n_nodes && stacks->nodes[id].frame > 0;
}

const struct bytehound_level *bytehound_stacks_levels(const struct bytehound_stacks *stacks,
                                                      int64_t id, size_t *ret_n)
{
    int64_t frame = bytehound_stacks_has(stacks, id) ? stacks->nodes[id].frame : 0;

    *ret_n = frame ? stacks->first_level[frame + 1] - stacks->first_level[frame] : 0;
    return stacks->levels + (frame ? stacks->first_level[frame] : 0);
}

/* A copy without template arguments <…>; the < and > of operators stay. */
static void put_stripped(FILE *out, const char *name)
{
    char *copy = strdup(name);
    size_t n = 0;
    int depth = 0;

    for (const char *at = name; copy && *at; at++) {
        bool is_operator = at - name >= 8 && strncmp(at - 8, "operator", 8) == 0;
        bool is_arrow = at > name && at[-1] == '-';

        if (*at == '<' && !is_operator)
            depth++;
        if (depth == 0)
            copy[n++] = *at;
        if (*at == '>' && depth > 0 && !is_arrow)
            depth--;
    }
    if (copy)
        copy[n] = '\0';
    json_text_put(out, copy ? copy : name);
    free(copy);
}

static void put_text(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, ",\"%s\":", name);
    if (text)
        json_text_put(out, text);
    else
        (void)fputs("null", out);
}

static void put_number(FILE *out, const char *name, int64_t number)
{
    if (number > 0)
        (void)fprintf(out, ",\"%s\":%" PRId64, name, number);
    else
        (void)fprintf(out, ",\"%s\":null", name);
}

void bytehound_stacks_put_level(const struct bytehound_stacks *stacks, const struct bytehound *self,
                                const struct bytehound_level *level)
{
    FILE *out = self->out;

    (void)fputc('{', out);
    bytehound_put_address(self, "address", (uint64_t)level->address);
    (void)fprintf(out, ",\"count\":%" PRId64, stacks->counts[level->frame]);
    put_text(out, "library", level->library);
    if (self->is_stripped && level->function) {
        (void)fputs(",\"function\":", out);
        put_stripped(out, level->function);
    } else {
        put_text(out, "function", level->function);
    }
    put_text(out, "raw_function", level->raw_function);
    put_text(out, "source", level->source);
    put_number(out, "line", level->line);
    put_number(out, "column", level->column);
    (void)fprintf(out, ",\"is_inline\":%s}", level->is_inline ? "true" : "false");
}

/* Collects the path to the root, to print it from the root down. */
void bytehound_stacks_put(const struct bytehound_stacks *stacks, const struct bytehound *self,
                          int64_t id)
{
    int64_t small[256];
    int64_t *path = small;
    size_t depth = 0;
    const char *separator = "";

    for (int64_t at = id; bytehound_stacks_has(stacks, at) && depth < MAX_DEPTH;
         at = stacks->nodes[at].parent)
        depth++;
    if (depth > sizeof(small) / sizeof(small[0]))
        path = calloc(depth, sizeof(*path));
    for (int64_t at = id, i = (int64_t)depth; path && i > 0; at = stacks->nodes[at].parent)
        path[--i] = at;
    (void)fputc('[', self->out);
    for (size_t i = 0; path && i < depth; i++) {
        size_t n;
        const struct bytehound_level *levels = bytehound_stacks_levels(stacks, path[i], &n);

        for (size_t k = 0; k < n; k++, separator = ",") {
            (void)fputs(separator, self->out);
            bytehound_stacks_put_level(stacks, self, &levels[k]);
        }
    }
    (void)fputc(']', self->out);
    if (path != small)
        free(path);
}
