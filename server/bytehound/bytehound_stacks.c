/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound_stacks.h"

#include "server/bytehound/bytehound_parts.h"
#include "support/error.h"
#include "support/growing.h"
#include "support/json_text.h"
#include "support/saturating.h"

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

/* Preorder: a frame that was counted covers all stacks up to the last below it. */
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

static const char levels_sql[] =
    "SELECT l.frame_id, f.name, f.raw_name, s.path, l.line, l.column_number, o.path,"
    " r.object_offset + ifnull((SELECT m.load_address FROM modules AS m WHERE m.object_id = r.object_id"
    " ORDER BY m.module_id LIMIT 1), 0), l.inline_level"
    " FROM frames AS r CROSS JOIN frame_lines AS l ON l.frame_id = r.frame_id"
    " LEFT JOIN functions AS f ON f.function_id = l.function_id"
    " LEFT JOIN sources AS s ON s.source_id = l.source_id"
    " LEFT JOIN objects AS o ON o.object_id = r.object_id"
    " ORDER BY r.frame_id, l.inline_level DESC";

/* NULL: none, or no memory; then n_texts did not grow. */
static const char *keep(struct bytehound_stacks *stacks, struct sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    char **larger;

    if (!text)
        return NULL;
    /* Neighbours often have the same path or function. */
    for (size_t i = stacks->n_texts; i > 0 && i + 8 > stacks->n_texts; i--)
        if (strcmp(stacks->texts[i - 1], text) == 0)
            return stacks->texts[i - 1];
    larger = growing_reserve(stacks->texts, &stacks->texts_capacity, stacks->n_texts + 1,
                             sizeof(char *));
    if (!larger)
        return NULL;
    stacks->texts = larger;
    larger[stacks->n_texts] = strdup(text);
    return larger[stacks->n_texts] ? larger[stacks->n_texts++] : NULL;
}

static void take_level(struct bytehound_stacks *stacks, struct sqlite3_stmt *stmt)
{
    int64_t frame = id_below(sqlite3_column_int64(stmt, 0), stacks->n_frames);
    struct bytehound_level *level = &stacks->levels[stacks->n_levels++];

    *level =
        (struct bytehound_level){.frame = frame,
                                 .function = keep(stacks, stmt, 1),
                                 .raw_function = keep(stacks, stmt, 2),
                                 .source = keep(stacks, stmt, 3),
                                 .line = sqlite3_column_int64(stmt, 4),
                                 .column = sqlite3_column_int64(stmt, 5),
                                 .library = keep(stacks, stmt, 6),
                                 .address = sqlite3_column_int64(stmt, 7),
                                 /* the last level of a frame is the function that was called */
                                 .is_inline = stacks->n_levels > 1 && frame == level[-1].frame};
}

/* Where the levels of each frame begin; those of a frame without any nowhere. */
static void find_first_levels(struct bytehound_stacks *stacks)
{
    size_t at = 0;

    for (int64_t frame = 0; frame <= stacks->n_frames; frame++) {
        while (at < stacks->n_levels && stacks->levels[at].frame < frame)
            at++;
        stacks->first_level[frame] = at;
    }
}

static int load_levels(struct bytehound_stacks *stacks, const struct bytehound *self,
                       size_t n_expected, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&self->database, levels_sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&self->database, stmt, err)) == 1 && stacks->n_levels < n_expected)
        take_level(stacks, stmt);
    sqlite3_finalize(stmt);
    find_first_levels(stacks);
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
            rc = error_set(err, ERROR_FORMAT, "'%s' has ids of stacks that none can have",
                           self->database.path);
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

/* A copy without what stands in <…>; an operator's own < and > stay. */
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

/* From the root down: the way up is kept in a row first. */
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
