/* SPDX-License-Identifier: MIT */
#include "importer/symbols/function_totals.h"

#include "importer/tables/database.h"
#include "support/database_guard.h"
#include "support/saturating.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_FIGURES = 5 /* allocated blocks and bytes, leaked bytes, peak bytes, temporary blocks */
};

struct figures {
    int64_t value[N_FIGURES];
};

struct node {
    uint32_t last_descendant;
    uint32_t frame;
    uint32_t site_function; /* 0: none */
    uint32_t site_module;   /* as in tree.functions; 0: none */
};

struct function {
    struct figures self, total;
    uint32_t n_open; /* nodes on the way to the current one that hold it */
};

struct tree {
    struct node *nodes;         /* by backtrace id */
    struct figures *sums;       /* by backtrace id: of all stacks up to it, of one process */
    uint32_t *open;             /* nodes on the way to the current one, outermost first */
    uint32_t *first_of_frame;   /* by frame id: index in frame_functions; one more at the end */
    uint32_t *frame_functions;  /* distinct functions of a frame's levels, and its module */
    struct function *functions; /* by id; behind them modules: n_functions + object id */
    size_t n_nodes, n_frames, n_functions, n_modules; /* highest id + 1 */
    size_t n_levels;
    size_t n_open;
};

static int tree_new(sqlite3 *db, struct tree *tree, struct error *err)
{
    int code = database_ids(db, "backtraces", "backtrace_id", &tree->n_nodes, err);
    if (code == 0)
        code = database_ids(db, "frames", "frame_id", &tree->n_frames, err);
    if (code == 0)
        code = database_ids(db, "functions", "function_id", &tree->n_functions, err);
    if (code == 0)
        code = database_ids(db, "objects", "object_id", &tree->n_modules, err);
    if (code == 0)
        code = database_get_count(
            db, "SELECT (SELECT count(*) FROM frame_lines) + (SELECT count(*) FROM frames)",
            &tree->n_levels, err);
    if (code)
        return code;
    tree->nodes = calloc(tree->n_nodes, sizeof *tree->nodes);
    tree->sums = calloc(tree->n_nodes, sizeof *tree->sums);
    tree->open = calloc(tree->n_nodes, sizeof *tree->open);
    tree->first_of_frame = calloc(tree->n_frames + 1, sizeof *tree->first_of_frame);
    tree->frame_functions = calloc(tree->n_levels + 1, sizeof *tree->frame_functions);
    tree->functions = calloc(tree->n_functions + tree->n_modules, sizeof *tree->functions);
    if (tree->nodes && tree->sums && tree->open && tree->first_of_frame && tree->frame_functions
        && tree->functions)
        return 0;
    return error_set(err, ERROR_NOMEM, "out of memory for totals of %zu functions",
                     tree->n_functions);
}

static void tree_done(struct tree *tree)
{
    free(tree->nodes);
    free(tree->sums);
    free(tree->open);
    free(tree->first_of_frame);
    free(tree->frame_functions);
    free(tree->functions);
}

/* ---- reading ---- */

static int end_read(sqlite3 *db, sqlite3_stmt *statement, int step, struct error *err)
{
    int code = step == SQLITE_DONE ? 0 : database_error(db, err);

    sqlite3_finalize(statement);
    return code;
}

static int read_nodes(sqlite3 *db, struct tree *tree, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int step;
    int code = database_prepare(
        db,
        "SELECT b.backtrace_id, b.last_descendant_id, b.frame_id, s.function_id, s.object_id"
        " FROM backtraces b LEFT JOIN call_sites s ON s.call_site_id = b.call_site_id",
        &statement, err);

    if (code)
        return code;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct node *node = &tree->nodes[database_id(statement, 0, tree->n_nodes)];
        int64_t module = database_id(statement, 4, tree->n_modules);
        node->last_descendant = (uint32_t)database_id(statement, 1, tree->n_nodes);
        node->frame = (uint32_t)database_id(statement, 2, tree->n_frames);
        node->site_function = (uint32_t)database_id(statement, 3, tree->n_functions);
        if (module)
            node->site_module = (uint32_t)(tree->n_functions + (size_t)module);
    }
    return end_read(db, statement, step, err);
}

/* A frame that inlines a function into itself holds it once. */
static int read_frames(sqlite3 *db, struct tree *tree, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    size_t n = 0;
    size_t frame = 0;
    int step;
    int code = database_prepare(db,
                                "SELECT frame_id, function_id FROM frame_lines"
                                " WHERE function_id IS NOT NULL UNION"
                                " SELECT frame_id, object_id + ? FROM frames"
                                " WHERE object_id IS NOT NULL ORDER BY frame_id",
                                &statement, err);

    if (code)
        return code;
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)tree->n_functions);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t id = (size_t)database_id(statement, 0, tree->n_frames);
        while (frame < id)
            tree->first_of_frame[++frame] = (uint32_t)n;
        if (id && n < tree->n_levels)
            tree->frame_functions[n++] =
                (uint32_t)database_id(statement, 1, tree->n_functions + tree->n_modules);
    }
    while (frame < tree->n_frames)
        tree->first_of_frame[++frame] = (uint32_t)n;
    return end_read(db, statement, step, err);
}

/* Figures of the stacks of one process, and from them running sums in order of id. */
static int read_totals(sqlite3 *db, struct tree *tree, sqlite3_stmt *statement, struct error *err)
{
    int step;

    memset(tree->sums, 0, tree->n_nodes * sizeof *tree->sums);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t id = (size_t)database_id(statement, 0, tree->n_nodes);
        struct function *site = &tree->functions[tree->nodes[id].site_function];
        struct function *module = &tree->functions[tree->nodes[id].site_module];
        for (int i = 0; i < N_FIGURES; i++) {
            tree->sums[id].value[i] = sqlite3_column_int64(statement, i + 1);
            saturating_grow(&site->self.value[i], tree->sums[id].value[i]);
            saturating_grow(&module->self.value[i], tree->sums[id].value[i]);
        }
    }
    sqlite3_reset(statement);
    for (size_t id = 1; id < tree->n_nodes; id++) {
        for (int i = 0; i < N_FIGURES; i++)
            saturating_grow(&tree->sums[id].value[i], tree->sums[id - 1].value[i]);
    }
    return step == SQLITE_DONE ? 0 : database_error(db, err);
}

/* ---- the walk ---- */

static void close_node(struct tree *tree)
{
    uint32_t frame = tree->nodes[tree->open[--tree->n_open]].frame;

    for (uint32_t i = tree->first_of_frame[frame]; i < tree->first_of_frame[frame + 1]; i++)
        tree->functions[tree->frame_functions[i]].n_open--;
}

static void open_node(struct tree *tree, uint32_t id)
{
    const struct node *node = &tree->nodes[id];
    const struct figures *last = &tree->sums[node->last_descendant];
    const struct figures *before = &tree->sums[id - 1];

    tree->open[tree->n_open++] = id;
    for (uint32_t i = tree->first_of_frame[node->frame]; i < tree->first_of_frame[node->frame + 1];
         i++) {
        struct function *function = &tree->functions[tree->frame_functions[i]];
        if (function->n_open++ > 0)
            continue; /* an outer node counted this subtree already */
        for (int figure = 0; figure < N_FIGURES; figure++)
            saturating_grow(&function->total.value[figure],
                            saturating_subtract(last->value[figure], before->value[figure]));
    }
}

static void walk(struct tree *tree)
{
    for (uint32_t id = 1; id < tree->n_nodes;) {
        const struct node *node = &tree->nodes[id];
        while (tree->n_open && tree->nodes[tree->open[tree->n_open - 1]].last_descendant < id)
            close_node(tree);
        /* Blocks of 0 bytes are still blocks: figure 0 tells an untouched subtree. */
        if (tree->sums[node->last_descendant].value[0] == tree->sums[id - 1].value[0]) {
            id = (node->last_descendant > id ? node->last_descendant : id) + 1;
            continue;
        }
        open_node(tree, id++);
    }
    while (tree->n_open)
        close_node(tree);
}

/* Where rows go: functions, or modules, which have ids behind them. */
struct output {
    sqlite3_stmt *insert;
    size_t before_first, end; /* places in tree->functions */
};

static int write_rows(const struct tree *tree, int64_t process, const struct output *output,
                      struct error *err)
{
    int code = 0;

    for (size_t i = output->before_first + 1; code == 0 && i < output->end; i++) {
        const int64_t *self = tree->functions[i].self.value;
        const int64_t *total = tree->functions[i].total.value;
        if (total[0] || self[0])
            code =
                database_insert(output->insert, err, "iuiiiiiiiiii", process,
                                (uint64_t)(i - output->before_first), self[0], self[1], self[2],
                                self[3], self[4], total[0], total[1], total[2], total[3], total[4]);
    }
    return code;
}

static int write_process(sqlite3 *db, struct tree *tree, int64_t process, sqlite3_stmt *select,
                         const struct output *outputs, struct error *err)
{
    sqlite3_bind_int64(select, 1, process);
    int code = read_totals(db, tree, select, err);
    if (code)
        return code;
    walk(tree);
    for (int i = 0; code == 0 && i < 2; i++)
        code = write_rows(tree, process, &outputs[i], err);
    memset(tree->functions, 0, (tree->n_functions + tree->n_modules) * sizeof *tree->functions);
    return code;
}

static int prepare_outputs(sqlite3 *db, const struct tree *tree, struct output *outputs,
                           struct error *err)
{
    int code = database_prepare(
        db, "INSERT INTO function_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &outputs[0].insert, err);

    outputs[0].end = outputs[1].before_first = tree->n_functions;
    outputs[1].end = tree->n_functions + tree->n_modules;
    return code ? code
                : database_prepare(
                    db, "INSERT INTO module_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    &outputs[1].insert, err);
}

static int write_processes(sqlite3 *db, struct tree *tree, struct error *err)
{
    sqlite3_stmt *processes = NULL;
    sqlite3_stmt *select = NULL;
    struct output outputs[2] = {{.insert = NULL}, {.insert = NULL}};
    int code = database_prepare(db, "SELECT process_id FROM processes", &processes, err);

    if (code == 0)
        code = database_prepare(
            db,
            "SELECT backtrace_id, allocated_blocks, allocated_bytes, leaked_bytes, peak_bytes,"
            " temporary_blocks FROM backtrace_totals WHERE process_id = ?",
            &select, err);
    if (code == 0)
        code = prepare_outputs(db, tree, outputs, err);
    while (code == 0 && sqlite3_step(processes) == SQLITE_ROW)
        code = write_process(db, tree, sqlite3_column_int64(processes, 0), select, outputs, err);
    sqlite3_finalize(processes);
    sqlite3_finalize(select);
    sqlite3_finalize(outputs[0].insert);
    sqlite3_finalize(outputs[1].insert);
    return code;
}

int function_totals_write(sqlite3 *db, struct error *err)
{
    struct tree tree = {0};
    int code = tree_new(db, &tree, err);

    if (code == 0)
        code = read_nodes(db, &tree, err);
    if (code == 0)
        code = read_frames(db, &tree, err);
    if (code == 0)
        code = database_execute(db, "DELETE FROM function_totals; DELETE FROM module_totals", err);
    if (code == 0)
        code = write_processes(db, &tree, err);
    tree_done(&tree);
    return code;
}
