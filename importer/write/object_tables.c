/* SPDX-License-Identifier: MIT */
#include "importer/totals/statistics.h"
#include "importer/write/database.h"
#include "importer/write/total_tables.h"
#include "lib/base/dynamic_array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_WARNINGS = 64, /* per walk, of those that the import finds */
    TEXT_BYTES = 160,
    MAX_PATH_BYTES = 64 * 1024, /* longer paths lose their beginning */
};

static const char *const g_kinds[] = {
    [LOG_OBJECT_ROOT] = "block",
    [LOG_OBJECT_FIELD] = "field",
    [LOG_OBJECT_POINTER] = "pointer",
    [LOG_OBJECT_BLOCK] = "block",
    [LOG_OBJECT_UNUSED] = "unused_capacity",
    [LOG_OBJECT_OPAQUE] = "opaque",
    [LOG_OBJECT_PADDING] = "padding",
};

/* State while one walk is written. */
struct writing {
    sqlite3 *db;
    const struct object_walk *walk;
    uint64_t walk_id;
    char **paths;          /* by node */
    uint64_t *total_bytes; /* by node */
    sqlite3_stmt *node, *claim, *warning;
    uint64_t n_nodes, n_warnings;
};

/* ---- nodes ---- */

static char *join_path(const char *parent, const char *name)
{
    size_t parent_bytes = parent ? strlen(parent) : 0;
    size_t cut = parent_bytes > MAX_PATH_BYTES ? parent_bytes - MAX_PATH_BYTES : 0;
    size_t room = parent_bytes - cut + strlen(name) + 2;
    char *path = malloc(room);

    if (path)
        (void)snprintf(path, room, "%s%s%s", parent ? parent + cut : "", parent ? ";" : "", name);
    return path;
}

static int make_paths(struct writing *writing, struct error *err)
{
    const struct object_walk *walk = writing->walk;

    writing->paths = calloc(walk->n_nodes + 1, sizeof(*writing->paths));
    writing->total_bytes = calloc(walk->n_nodes + 1, sizeof(*writing->total_bytes));
    for (size_t i = 1; writing->paths && i <= walk->n_nodes; i++) {
        const struct object_node *node = &walk->nodes[i];
        writing->paths[i] =
            join_path(node->parent ? writing->paths[node->parent] : NULL, node->name);
        if (!writing->paths[i])
            break;
    }
    if (!writing->paths || !writing->total_bytes
        || (walk->n_nodes && !writing->paths[walk->n_nodes]))
        return error_set(err, ERROR_NOMEM, "out of memory for %zu objects", walk->n_nodes);
    for (size_t i = walk->n_nodes; i > 0; i--) {
        const struct object_node *node = &walk->nodes[i];
        writing->total_bytes[i] += node->self_bytes + node->slack_bytes + node->overhead_bytes;
        if (node->parent)
            writing->total_bytes[node->parent] += writing->total_bytes[i];
    }
    return 0;
}

static int write_leaf(struct writing *writing, size_t parent, const char *kind, uint64_t bytes,
                      struct error *err)
{
    char *path = bytes ? join_path(writing->paths[parent], kind) : NULL;
    int code;

    if (!bytes)
        return 0;
    if (!path)
        return error_set(err, ERROR_NOMEM, "out of memory for the name of an object");
    code = database_insert(writing->node, err, "uuutttuuu", writing->walk_id, ++writing->n_nodes,
                           (uint64_t)parent, path, kind, kind,
                           writing->walk->nodes[parent].n_objects, bytes, bytes);
    free(path);
    return code;
}

static int write_nodes(struct writing *writing, struct error *err)
{
    const struct object_walk *walk = writing->walk;
    int code = make_paths(writing, err);

    for (size_t i = 1; code == 0 && i <= walk->n_nodes; i++) {
        const struct object_node *node = &walk->nodes[i];
        code = database_insert(writing->node, err, "uuztttuuu", writing->walk_id, (uint64_t)i,
                               (uint64_t)node->parent, writing->paths[i], node->name,
                               g_kinds[node->kind], node->n_objects, node->self_bytes,
                               writing->total_bytes[i]);
    }
    writing->n_nodes = walk->n_nodes;
    for (size_t i = 1; code == 0 && i <= walk->n_nodes; i++) {
        code = write_leaf(writing, i, "slack", walk->nodes[i].slack_bytes, err);
        if (code == 0)
            code = write_leaf(writing, i, "malloc_overhead", walk->nodes[i].overhead_bytes, err);
    }
    return code;
}

/* ---- claims and warnings ---- */

static int write_warning(struct writing *writing, const char *text, struct error *err)
{
    return database_insert(writing->warning, err, "uut", writing->walk_id, ++writing->n_warnings,
                           text);
}

/* Adds a warning that needs knowledge of all blocks. */
static int judge(struct writing *writing, const struct object_claim *claim, unsigned *n,
                 struct error *err)
{
    bool has_block = claim->allocation_id || claim->pool_block_id;
    char *text;
    char what[TEXT_BYTES];
    int code;

    if (claim->is_repeated || (!has_block && claim->kind == 0)
        || (has_block && claim->declared_bytes <= claim->size_bytes) || (*n)++ >= MAX_WARNINGS)
        return 0;
    if (has_block)
        (void)snprintf(what, sizeof(what),
                       ": declared as %" PRIu64 " bytes, but its block has %" PRIu64 ", 0x%" PRIx64,
                       claim->declared_bytes, claim->size_bytes, claim->address);
    else
        (void)snprintf(what, sizeof(what), ": no live block begins at 0x%" PRIx64, claim->address);
    if (asprintf(&text, "%s%s", writing->paths[claim->node], what) < 0)
        return error_set(err, ERROR_NOMEM, "out of memory for a warning");
    code = write_warning(writing, text, err);
    free(text);
    return code;
}

static int write_claims(struct writing *writing, struct error *err)
{
    static const char *const kinds[] = {"root", "unique", "shared"};
    const struct object_walk *walk = writing->walk;
    unsigned n_in_range = 0;
    int code = 0;

    for (size_t i = 0; code == 0 && i < walk->n_texts; i++)
        code = write_warning(writing, walk->warnings[i], err);
    for (size_t i = 0; code == 0 && i < walk->n_claims; i++) {
        const struct object_claim *claim = &walk->claims[i];
        bool has_block = claim->allocation_id || claim->pool_block_id;
        code = database_insert(writing->claim, err, "uuutuumzzu", writing->walk_id, (uint64_t)i + 1,
                               (uint64_t)claim->node, kinds[claim->kind], claim->address,
                               claim->declared_bytes, has_block ? claim->size_bytes : UINT64_MAX,
                               claim->allocation_id, claim->pool_block_id,
                               (uint64_t)claim->is_repeated);
        if (code == 0)
            code = judge(writing, claim, &n_in_range, err);
    }
    return code;
}

/* ---- walks ---- */

static void writing_done(struct writing *writing)
{
    for (size_t i = 0; writing->paths && i <= writing->walk->n_nodes; i++)
        free(writing->paths[i]);
    free(writing->paths);
    free(writing->total_bytes);
    sqlite3_finalize(writing->node);
    sqlite3_finalize(writing->claim);
    sqlite3_finalize(writing->warning);
}

static int write_walk_row(const struct writing *writing, struct error *err)
{
    const struct object_walk *walk = writing->walk;
    sqlite3_stmt *insert = NULL;
    int code = database_prepare(writing->db,
                                "INSERT INTO object_walks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                &insert, err);

    if (code == 0)
        code = database_insert(
            insert, err, "uuzutuuuuuu", writing->walk_id, (uint64_t)walk->process,
            (uint64_t)walk->thread, walk->start_ns, walk->name, walk->live_blocks, walk->live_bytes,
            walk->claimed_blocks, walk->claimed_bytes, walk->n_warnings, (uint64_t)!walk->is_open);
    sqlite3_finalize(insert);
    return code;
}

static int write_walk(sqlite3 *db, const struct object_walk *walk, uint64_t walk_id,
                      struct error *err)
{
    struct writing writing = {.db = db, .walk = walk, .walk_id = walk_id};
    int code = database_prepare(db, "INSERT INTO object_nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                &writing.node, err);

    if (code == 0)
        code =
            database_prepare(db, "INSERT INTO object_claims VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                             &writing.claim, err);
    if (code == 0)
        code = database_prepare(db, "INSERT INTO object_warnings VALUES (?, ?, ?)",
                                &writing.warning, err);
    if (code == 0)
        code = write_walk_row(&writing, err);
    if (code == 0)
        code = write_nodes(&writing, err);
    if (code == 0)
        code = write_claims(&writing, err);
    writing_done(&writing);
    return code;
}

static int write_unclaimed(sqlite3 *db, struct object_walks *walks, struct error *err)
{
    const struct pair_totals_entry *entries;
    sqlite3_stmt *insert = NULL;
    int code =
        database_prepare(db, "INSERT INTO unclaimed_totals VALUES (?, ?, ?, ?)", &insert, err);

    pair_totals_sort(&walks->unclaimed);
    entries = walks->unclaimed.elements;
    for (size_t i = 0; code == 0 && i < walks->unclaimed.n; i++)
        code = database_insert(insert, err, "uuuu", (uint64_t)entries[i].process,
                               (uint64_t)entries[i].from, entries[i].blocks, entries[i].bytes);
    sqlite3_finalize(insert);
    return code;
}

int object_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err)
{
    int code = 0;

    for (size_t i = 0; code == 0 && i < statistics->walks.n; i++)
        code = write_walk(db, &statistics->walks.list[i], (uint64_t)i + 1, err);
    return code == 0 && statistics->walks.n ? write_unclaimed(db, &statistics->walks, err) : code;
}
