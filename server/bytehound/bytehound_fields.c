/* SPDX-License-Identifier: MIT */
#include "server/bytehound/bytehound_fields.h"

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

/* ---- rows ---- */

struct row {
    const struct bytehound *self;
    struct bytehound_stacks *stacks;
    struct sqlite3_stmt *stmt;
    const struct bytehound_field *field; /* the next one */
    int column;                          /* the next one */
    FILE *out;
};

static int put_stack(const struct row *row, int64_t id, struct error *err);

static void put_timeval(const struct row *row, const char *name, const char *suffix, int64_t ns)
{
    (void)fprintf(row->out, "\"%s%s\":{\"secs\":%" PRId64 ",\"fract_nsecs\":%" PRId64 "}", name,
                  suffix, ns / 1000000000, ns % 1000000000);
}

static void put_times(const struct row *row, const char *name, int64_t at_ns)
{
    const struct bytehound *self = row->self;

    put_timeval(row, name, "", saturating_add(self->start_unix_ns, at_ns));
    (void)fputc(',', row->out);
    put_timeval(row, name, "_relative", at_ns);
    (void)fprintf(row->out, ",\"%s_relative_p\":%.9g", name,
                  self->end_ns > 0 ? (double)at_ns / (double)self->end_ns : 0);
}

static int put_value(const struct row *row, const struct bytehound_field *field, struct error *err)
{
    sqlite3_int64 number = sqlite3_column_int64(row->stmt, row->column);
    size_t n_bytes;
    const char *text;

    switch (field->type) {
    case BYTEHOUND_TIME:
        put_timeval(row, field->name, "", saturating_add(row->self->start_unix_ns, number));
        return 0;
    case BYTEHOUND_TIMES:
        put_times(row, field->name, number);
        return 0;
    case BYTEHOUND_SPAN:
        put_timeval(row, field->name, "", number);
        return 0;
    case BYTEHOUND_ADDRESS:
        (void)fprintf(row->out, "\"%s\":%llu,\"%s_s\":\"%016llX\"", field->name,
                      (unsigned long long)number, field->name, (unsigned long long)number);
        return 0;
    default:
        (void)fprintf(row->out, "\"%s\":", field->name);
    }
    if (field->type == BYTEHOUND_STACK)
        return put_stack(row, number, err);
    if (field->type == BYTEHOUND_TEXT) {
        text = rundb_text_bytes(row->stmt, row->column, &n_bytes);
        json_text_put_bytes(row->out, text, n_bytes);
    } else if (field->type == BYTEHOUND_BOOL) {
        (void)fputs(number ? "true" : "false", row->out);
    } else {
        (void)fprintf(row->out, "%lld", (long long)number);
    }
    return 0;
}

static bool is_object(const struct bytehound_field *field)
{
    return field->type == BYTEHOUND_OBJECT || field->type == BYTEHOUND_CHOICE;
}

/* The members up to the end of an object. Recurses once per object of the table of fields. */
static int put_members(struct row *row, bool is_shown, struct error *err)
{
    const char *separator = "";
    int rc = 0;

    for (; row->field->name && rc == 0;) {
        const struct bytehound_field *field = row->field++;
        bool is_null = field->type == BYTEHOUND_NULL
                       || sqlite3_column_type(row->stmt, row->column) == SQLITE_NULL;
        bool is_printed = is_shown && !(is_null && field->type == BYTEHOUND_CHOICE);

        if (is_printed)
            (void)fputs(separator, row->out);
        if (is_printed)
            separator = ",";
        if (is_printed && is_null)
            (void)fprintf(row->out, "\"%s\":null", field->name);
        else if (is_printed && is_object(field))
            (void)fprintf(row->out, "\"%s\":{", field->name);
        else if (is_printed)
            rc = put_value(row, field, err);
        row->column += field->type != BYTEHOUND_NULL;
        if (!is_object(field) || rc != 0)
            continue;
        rc = put_members(row, is_shown && !is_null, err);
        (void)fputs(is_shown && !is_null ? "}" : "", row->out);
    }
    row->field++;
    return rc;
}

static int put_rows(struct row *row, const struct bytehound_field *fields, struct error *err)
{
    const char *separator = "{";
    int rc = 0;

    while (rc == 0 && (rc = rundb_step(&row->self->database, row->stmt, err)) == 1) {
        (void)fputs(separator, row->out);
        row->field = fields;
        row->column = 0;
        rc = put_members(row, true, err);
        (void)fputc('}', row->out);
        separator = ",\n{";
    }
    return rc;
}

int bytehound_fields_put(const struct bytehound *self, struct bytehound_stacks *stacks,
                         struct sqlite3_stmt *stmt, const struct bytehound_field *fields,
                         struct error *err)
{
    struct row row = {.self = self, .stacks = stacks, .stmt = stmt, .out = self->out};

    return put_rows(&row, fields, err);
}

/* ---- stacks ---- */

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "no memory for stacks");
}

/* Stacks, then their totals by process. */
static const char nodes_sql[] =
    "SELECT backtrace_id, parent_backtrace_id, last_descendant_id, frame_id, 0 FROM backtraces"
    " UNION ALL SELECT backtrace_id, 0, 0, NULL, allocated_blocks FROM main.backtrace_totals";

static const char frame_sql[] =
    "SELECT f.object_offset + ifnull((SELECT m.load_address FROM modules AS m"
    " WHERE m.object_id = f.object_id ORDER BY m.module_id LIMIT 1), 0), ?2, o.path, n.name,"
    " n.raw_name, s.path, l.line, l.column_number, l.inline_level <"
    " (SELECT max(k.inline_level) FROM frame_lines AS k WHERE k.frame_id = ?1)"
    " FROM frame_lines AS l JOIN frames AS f ON f.frame_id = l.frame_id"
    " LEFT JOIN objects AS o ON o.object_id = f.object_id"
    " LEFT JOIN functions AS n ON n.function_id = l.function_id"
    " LEFT JOIN sources AS s ON s.source_id = l.source_id"
    " WHERE l.frame_id = ?1 ORDER BY l.inline_level DESC";

static const struct bytehound_field frame_fields[] = {
    {"address", BYTEHOUND_ADDRESS}, {"count", BYTEHOUND_NUMBER},      {"library", BYTEHOUND_TEXT},
    {"function", BYTEHOUND_TEXT},   {"raw_function", BYTEHOUND_TEXT}, {"source", BYTEHOUND_TEXT},
    {"line", BYTEHOUND_NUMBER},     {"column", BYTEHOUND_NUMBER},     {"is_inline", BYTEHOUND_BOOL},
    {NULL, BYTEHOUND_END}};

static int load_nodes(struct bytehound_stacks *stacks, const struct bytehound *self,
                      struct error *err)
{
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(&self->database, nodes_sql, &stmt, err);

    if (rc != 0)
        return rc;
    while ((rc = rundb_step(&self->database, stmt, err)) == 1) {
        int64_t id = database_id(stmt, 0, stacks->n_nodes);
        struct bytehound_node *node = &stacks->nodes[id];

        saturating_grow(&node->n_allocations, sqlite3_column_int64(stmt, 4));
        if (sqlite3_column_type(stmt, 3) == SQLITE_NULL)
            continue;
        /* A parent has a smaller id, so that the path to the root ends. */
        node->parent = database_id(stmt, 1, (size_t)id);
        node->last = database_id(stmt, 2, stacks->n_nodes);
        node->frame = database_id(stmt, 3, stacks->n_frames);
    }
    sqlite3_finalize(stmt);
    stacks->nodes[0] = (struct bytehound_node){0};
    return rc;
}

/* Ids are in preorder: a counted frame covers all stacks up to the last one below it. */
static int count_frames(struct bytehound_stacks *stacks, struct error *err)
{
    int64_t *covered = calloc(stacks->n_frames, sizeof(*covered));
    int64_t *sums = calloc(stacks->n_nodes, sizeof(*sums));

    for (size_t id = 1; sums && id < stacks->n_nodes; id++)
        sums[id] = saturating_add(sums[id - 1], stacks->nodes[id].n_allocations);
    for (int64_t id = 1; covered && sums && (size_t)id < stacks->n_nodes; id++) {
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

int bytehound_stacks_load(struct bytehound_stacks *stacks, const struct bytehound *self,
                          struct error *err)
{
    struct sqlite3 *db = self->database.handle;
    int rc = database_ids(db, "backtraces", "backtrace_id", &stacks->n_nodes, err);

    if (rc == 0)
        rc = database_ids(db, "frames", "frame_id", &stacks->n_frames, err);
    if (rc != 0)
        return rc;
    stacks->nodes = calloc(stacks->n_nodes, sizeof(*stacks->nodes));
    stacks->counts = calloc(stacks->n_frames, sizeof(*stacks->counts));
    stacks->texts = calloc(stacks->n_frames, sizeof(*stacks->texts));
    if (!stacks->nodes || !stacks->counts || !stacks->texts)
        return out_of_memory(err);
    rc = load_nodes(stacks, self, err);
    if (rc == 0)
        rc = count_frames(stacks, err);
    return rc == 0 ? rundb_prepare(&self->database, frame_sql, &stacks->frames, err) : rc;
}

void bytehound_stacks_done(struct bytehound_stacks *stacks)
{
    for (size_t i = 0; stacks->texts && i < stacks->n_frames; i++)
        free(stacks->texts[i]);
    free(stacks->texts);
    free(stacks->counts);
    free(stacks->nodes);
    sqlite3_finalize(stacks->frames);
}

/* Prints the levels of a frame, which stay in `texts`. */
static int put_frame(const struct row *row, int64_t frame, struct error *err)
{
    struct bytehound_stacks *stacks = row->stacks;
    struct row levels = {.self = row->self, .stmt = stacks->frames};
    size_t size;
    int rc;

    if (!stacks->texts[frame]) {
        levels.out = open_memstream(&stacks->texts[frame], &size);
        if (!levels.out)
            return out_of_memory(err);
        sqlite3_reset(stacks->frames);
        sqlite3_bind_int64(stacks->frames, 1, frame);
        sqlite3_bind_int64(stacks->frames, 2, stacks->counts[frame]);
        rc = put_rows(&levels, frame_fields, err);
        if (fclose(levels.out) != 0 && rc == 0)
            rc = out_of_memory(err);
        if (rc != 0)
            return rc;
    }
    (void)fputs(stacks->texts[frame], row->out);
    return 0;
}

/* Collects the path to the root, to print it from the root down. */
static int put_stack(const struct row *row, int64_t id, struct error *err)
{
    const struct bytehound_stacks *stacks = row->stacks;
    size_t depth = 0;
    int64_t *path;
    int rc = 0;

    id = id > 0 && (size_t)id < stacks->n_nodes ? id : 0;
    for (int64_t at = id; stacks->nodes[at].frame && depth < MAX_DEPTH;
         at = stacks->nodes[at].parent)
        depth++;
    path = calloc(depth + 1, sizeof(*path));
    if (!path)
        return out_of_memory(err);
    for (size_t i = depth; i-- > 0; id = stacks->nodes[id].parent)
        path[i] = stacks->nodes[id].frame;
    (void)fputc('[', row->out);
    for (size_t i = 0; i < depth && rc == 0; i++) {
        (void)fputs(i > 0 ? "," : "", row->out);
        rc = put_frame(row, path[i], err);
    }
    (void)fputc(']', row->out);
    free(path);
    return rc;
}
