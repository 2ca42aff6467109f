/* SPDX-License-Identifier: MIT */
/* objects: the tree of objects of the last walk, as rows or as a picture. */
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "queries/core/call_tree.h"
#include "queries/core/query.h"
#include "queries/core/report.h"
#include "queries/render/svg.h"
#include "queries/reports/cmd_flamegraph.h"
#include "queries/reports/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TITLE_BYTES = 512
};

/* The last walk of the selected processes: processes share no objects. */
static const char walk_sql[] =
    "SELECT w.walk_id, w.name, w.claimed_bytes, w.live_bytes FROM object_walks AS w"
    " WHERE :process IN (0, w.process_id) ORDER BY w.walk_id DESC LIMIT 1";
static const char nodes_sql[] =
    "SELECT node_id, coalesce(parent_node_id, 0), name, kind, objects, self_bytes FROM object_nodes"
    " WHERE walk_id = :walk ORDER BY node_id";

struct drawing {
    struct call_tree tree;
    char **texts; /* names and kinds */
    size_t n_texts, texts_capacity;
};

static const char *keep(struct drawing *drawing, const unsigned char *text)
{
    char **texts = dynamic_array_reserve(drawing->texts, &drawing->texts_capacity,
                                         drawing->n_texts + 1, sizeof(*texts));

    if (!texts)
        return NULL;
    drawing->texts = texts;
    texts[drawing->n_texts] = strdup(text ? (const char *)text : "?");
    return texts[drawing->n_texts] ? texts[drawing->n_texts++] : NULL;
}

static void add_to_ancestors(struct call_tree *tree, uint32_t place, int64_t bytes, int64_t objects)
{
    tree->nodes[place].self_bytes = bytes;
    tree->nodes[place].self_blocks = objects;
    for (uint32_t i = place; i != CALL_TREE_NONE; i = tree->nodes[i].parent) {
        tree->nodes[i].total_bytes += bytes;
        tree->nodes[i].total_blocks += objects;
    }
}

/* Ids written by mtrace are dense. Other ids, and parents that come later, hang below the root. */
static int add_node(struct drawing *drawing, struct sqlite3_stmt *row, struct error *err)
{
    size_t parent = (size_t)sqlite3_column_int64(row, 1);
    size_t n = drawing->tree.n; /* the root is 0, node 1 is next */
    const char *name = keep(drawing, sqlite3_column_text(row, 2));
    const char *kind = keep(drawing, sqlite3_column_text(row, 3));
    uint32_t place = name && kind
                         ? call_tree_add(&drawing->tree, parent < n ? (uint32_t)parent : 0, 0)
                         : CALL_TREE_NONE;

    if (place == CALL_TREE_NONE)
        return error_set(err, ERROR_NOMEM, "no memory for %zu objects", n);
    drawing->tree.nodes[place].name = name;
    drawing->tree.nodes[place].module = kind;
    add_to_ancestors(&drawing->tree, place, sqlite3_column_int64(row, 5),
                     sqlite3_column_int64(row, 4));
    return 0;
}

static int load(struct drawing *drawing, const struct rundb *database, int64_t walk_id,
                struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    uint32_t root = call_tree_add(&drawing->tree, CALL_TREE_NONE, 0);
    int rc = root == 0 ? 0 : error_set(err, ERROR_NOMEM, "no memory for objects");

    if (rc == 0) {
        drawing->tree.nodes[0].name = "all objects";
        rc = rundb_prepare(database, nodes_sql, &stmt, err);
    }
    if (rc == 0)
        sqlite3_bind_int64(stmt, 1, walk_id);
    while (rc == 0 && (rc = rundb_step(database, stmt, err)) == 1)
        rc = add_node(drawing, stmt, err);
    sqlite3_finalize(stmt);
    return rc == 0 ? call_tree_sort(&drawing->tree, false, err) : rc;
}

static int find_walk(const struct query *query, int64_t *ret_id, char *title, struct error *err)
{
    const struct rundb *database = &query->database;
    struct sqlite3_stmt *stmt = NULL;
    char claimed[UNITS_TEXT_BYTES];
    char live[UNITS_TEXT_BYTES];
    int rc = rundb_prepare(database, walk_sql, &stmt, err);

    if (rc == 0) {
        sqlite3_bind_int64(stmt, 1, query->options->process_id);
        rc = rundb_step(database, stmt, err);
    }
    if (rc == 1) {
        const unsigned char *name = sqlite3_column_text(stmt, 1);
        *ret_id = sqlite3_column_int64(stmt, 0);
        (void)snprintf(title, TITLE_BYTES,
                       "objects of walk %lld \"%s\", which own %s of %s that were live",
                       (long long)*ret_id, name ? (const char *)name : "",
                       units_format_bytes(sqlite3_column_int64(stmt, 2), claimed),
                       units_format_bytes(sqlite3_column_int64(stmt, 3), live));
        rc = 0;
    } else if (rc == 0) {
        rc = error_set(err, ERROR_NOT_FOUND,
                       "nothing to draw: the program recorded no walk over its objects");
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int draw(struct query *query, struct error *err)
{
    struct drawing drawing = {.texts = NULL};
    char title[TITLE_BYTES];
    const struct flame_words words = {
        title, "members and what they own hang below their objects; colour is the kind"};
    int64_t walk_id = 0;
    int rc = svg_check_output(&query->style, err);

    if (rc == 0)
        rc = find_walk(query, &walk_id, title, err);
    if (rc == 0)
        rc = load(&drawing, &query->database, walk_id, err);
    if (rc == 0)
        rc = cmd_flamegraph_draw(query, &drawing.tree, &words, err);
    for (size_t i = 0; i < drawing.n_texts; i++)
        free(drawing.texts[i]);
    free(drawing.texts);
    call_tree_done(&drawing.tree);
    return rc;
}

int cmd_objects_run(struct query *query, struct error *err)
{
    return query_is_picture(query->output_name) ? draw(query, err) : report_run(query, err);
}
