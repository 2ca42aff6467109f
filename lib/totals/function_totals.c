/* SPDX-License-Identifier: MIT */
#include "lib/totals/function_totals.h"

#include "lib/base/saturating.h"
#include "lib/sqlite/database_guard.h"
#include "lib/sqlite/database_statements.h"
#include "lib/totals/touched_ids.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    N_NUMBERS = 5,  /* allocated blocks and bytes, leaked bytes, peak bytes, temporary blocks */
    N_ESTIMATED = 4 /* the first of them, if blocks are samples */
};

struct numbers {
    int64_t value[N_NUMBERS];
    double square[N_ESTIMATED]; /* squared margins, which add up */
};

struct node {
    uint32_t parent; /* 0: a root */
    uint32_t last_descendant;
    uint32_t frame;
    uint32_t site_function; /* 0: none */
    uint32_t site_module;   /* as in tree.functions; 0: none */
};

struct function {
    struct numbers self, total;
    struct numbers before; /* tree.counted when the outermost open node with it began */
    uint32_t n_open;       /* open nodes that contain it */
};

struct tree {
    struct node *nodes;         /* by backtrace id */
    struct numbers *own;        /* by backtrace id, of one process */
    struct numbers counted;     /* sum of all nodes so far */
    struct touched_ids touched; /* nodes of the process: its stacks and their ancestors */
    struct touched_ids used;    /* functions and modules of the process */
    uint32_t *open;             /* path to the current node, outermost first */
    uint32_t *first_of_frame;   /* by frame id: index in frame_functions; one more at the end */
    uint32_t *frame_functions;  /* distinct functions of a frame's levels, and its module */
    struct function *functions; /* by id; modules follow: n_functions + object id */
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
    tree->own = calloc(tree->n_nodes, sizeof *tree->own);
    tree->open = calloc(tree->n_nodes, sizeof *tree->open);
    tree->first_of_frame = calloc(tree->n_frames + 1, sizeof *tree->first_of_frame);
    tree->frame_functions = calloc(tree->n_levels + 1, sizeof *tree->frame_functions);
    tree->functions = calloc(tree->n_functions + tree->n_modules, sizeof *tree->functions);
    if (!tree->nodes || !tree->own || !tree->open || !tree->first_of_frame || !tree->frame_functions
        || !tree->functions)
        return error_set(err, ERROR_NOMEM, "out of memory for totals of %zu functions",
                         tree->n_functions);
    code = touched_ids_init(&tree->touched, tree->n_nodes, err);
    return code ? code : touched_ids_init(&tree->used, tree->n_functions + tree->n_modules, err);
}

static void tree_done(struct tree *tree)
{
    free(tree->nodes);
    free(tree->own);
    touched_ids_done(&tree->touched);
    touched_ids_done(&tree->used);
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
        "SELECT b.backtrace_id, b.last_descendant_id, b.frame_id, s.function_id, s.object_id,"
        " b.parent_backtrace_id FROM backtraces b LEFT JOIN call_sites s ON s.call_site_id = b.call_site_id",
        &statement, err);

    if (code)
        return code;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct node *node = &tree->nodes[database_id(statement, 0, tree->n_nodes)];
        int64_t module = database_id(statement, 4, tree->n_modules);
        node->last_descendant = (uint32_t)database_id(statement, 1, tree->n_nodes);
        node->frame = (uint32_t)database_id(statement, 2, tree->n_frames);
        node->site_function = (uint32_t)database_id(statement, 3, tree->n_functions);
        node->parent = (uint32_t)database_id(statement, 5, tree->n_nodes);
        if (module)
            node->site_module = (uint32_t)(tree->n_functions + (size_t)module);
    }
    return end_read(db, statement, step, err);
}

/* A function inlined into itself is in a frame's list once. */
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

static void grow_all(struct numbers *sum, const struct numbers *value)
{
    for (int i = 0; i < N_NUMBERS; i++)
        saturating_grow(&sum->value[i], value->value[i]);
    for (int i = 0; i < N_ESTIMATED; i++)
        sum->square[i] += value->square[i];
}

/* Adds what was counted since `then`. */
static void grow_by_difference(struct numbers *sum, const struct numbers *now,
                               const struct numbers *then)
{
    for (int i = 0; i < N_NUMBERS; i++)
        saturating_grow(&sum->value[i], saturating_subtract(now->value[i], then->value[i]));
    for (int i = 0; i < N_ESTIMATED; i++)
        sum->square[i] += now->square[i] - then->square[i];
}

/* Reads the totals of the stacks of one process. */
static int read_totals(sqlite3 *db, struct tree *tree, sqlite3_stmt *statement, struct error *err)
{
    int step;

    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        uint32_t id = (uint32_t)database_id(statement, 0, tree->n_nodes);
        const struct node *node = &tree->nodes[id];
        for (int i = 0; i < N_NUMBERS; i++)
            tree->own[id].value[i] = sqlite3_column_int64(statement, i + 1);
        for (int i = 0; i < N_ESTIMATED; i++) {
            double margin = sqlite3_column_double(statement, N_NUMBERS + i + 1);
            tree->own[id].square[i] = margin * margin;
        }
        touched_ids_add(&tree->used, node->site_function);
        touched_ids_add(&tree->used, node->site_module);
        grow_all(&tree->functions[node->site_function].self, &tree->own[id]);
        grow_all(&tree->functions[node->site_module].self, &tree->own[id]);
        while (id && touched_ids_add(&tree->touched, id))
            id = tree->nodes[id].parent;
    }
    sqlite3_reset(statement);
    touched_ids_sort(&tree->touched);
    return step == SQLITE_DONE ? 0 : database_error(db, err);
}

/* ---- the walk ---- */

static void close_node(struct tree *tree)
{
    uint32_t frame = tree->nodes[tree->open[--tree->n_open]].frame;

    for (uint32_t i = tree->first_of_frame[frame]; i < tree->first_of_frame[frame + 1]; i++) {
        struct function *function = &tree->functions[tree->frame_functions[i]];
        if (--function->n_open > 0)
            continue; /* an outer node counts this subtree */
        grow_by_difference(&function->total, &tree->counted, &function->before);
    }
}

static void open_node(struct tree *tree, uint32_t id)
{
    uint32_t frame = tree->nodes[id].frame;

    tree->open[tree->n_open++] = id;
    for (uint32_t i = tree->first_of_frame[frame]; i < tree->first_of_frame[frame + 1]; i++) {
        struct function *function = &tree->functions[tree->frame_functions[i]];
        touched_ids_add(&tree->used, tree->frame_functions[i]);
        if (function->n_open++ == 0)
            function->before = tree->counted;
    }
    grow_all(&tree->counted, &tree->own[id]);
}

static void walk(struct tree *tree)
{
    tree->counted = (struct numbers){{0}, {0}};
    for (size_t i = 0; i < tree->touched.n; i++) {
        uint32_t id = tree->touched.ids[i];
        while (tree->n_open && tree->nodes[tree->open[tree->n_open - 1]].last_descendant < id)
            close_node(tree);
        open_node(tree, id);
    }
    while (tree->n_open)
        close_node(tree);
}

static void forget_process(struct tree *tree)
{
    for (size_t i = 0; i < tree->touched.n; i++)
        tree->own[tree->touched.ids[i]] = (struct numbers){{0}, {0}};
    for (size_t i = 0; i < tree->used.n; i++)
        tree->functions[tree->used.ids[i]] = (struct function){.n_open = 0};
    tree->own[0] = (struct numbers){{0}, {0}}; /* stacks that a damaged file names */
    touched_ids_clear(&tree->touched);
    touched_ids_clear(&tree->used);
}

struct process {
    int64_t id;
    bool is_sampled;
};

/* Output table: functions, or modules, whose ids follow those of functions. */
struct output {
    sqlite3_stmt *insert;
    size_t before_first, end; /* places in tree->functions */
};

enum {
    FIRST_MARGIN = 3 + 2 * N_NUMBERS /* number of the parameter */
};

/* A difference of sums may be slightly below 0. */
static void bind_margins(sqlite3_stmt *insert, int first, const struct numbers *numbers)
{
    for (int i = 0; i < N_ESTIMATED; i++)
        sqlite3_bind_double(insert, first + i,
                            numbers->square[i] > 0 ? sqrt(numbers->square[i]) : 0);
}

static int write_rows(const struct tree *tree, const struct process *process,
                      const struct output *output, struct error *err)
{
    int code = 0;

    for (size_t k = 0; code == 0 && k < tree->used.n; k++) {
        size_t i = tree->used.ids[k];
        if (i <= output->before_first || i >= output->end)
            continue;
        const int64_t *self = tree->functions[i].self.value;
        const int64_t *total = tree->functions[i].total.value;
        if (!total[0] && !self[0])
            continue;
        if (process->is_sampled) {
            bind_margins(output->insert, FIRST_MARGIN, &tree->functions[i].self);
            bind_margins(output->insert, FIRST_MARGIN + N_ESTIMATED, &tree->functions[i].total);
        }
        code = database_insert(output->insert, err, "iuiiiiiiiiii", process->id,
                               (uint64_t)(i - output->before_first), self[0], self[1], self[2],
                               self[3], self[4], total[0], total[1], total[2], total[3], total[4]);
        sqlite3_clear_bindings(output->insert);
    }
    return code;
}

static int write_process(sqlite3 *db, struct tree *tree, const struct process *process,
                         sqlite3_stmt *select, const struct output *outputs, struct error *err)
{
    sqlite3_bind_int64(select, 1, process->id);
    int code = read_totals(db, tree, select, err);
    if (code)
        return code;
    walk(tree);
    touched_ids_sort(&tree->used);
    for (int i = 0; code == 0 && i < 2; i++)
        code = write_rows(tree, process, &outputs[i], err);
    forget_process(tree);
    return code;
}

static int prepare_outputs(sqlite3 *db, const struct tree *tree, struct output *outputs,
                           struct error *err)
{
    int code = database_prepare(
        db,
        "INSERT INTO function_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &outputs[0].insert, err);

    outputs[0].end = outputs[1].before_first = tree->n_functions;
    outputs[1].end = tree->n_functions + tree->n_modules;
    return code
               ? code
               : database_prepare(
                   db,
                   "INSERT INTO module_totals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   &outputs[1].insert, err);
}

static int write_processes(sqlite3 *db, struct tree *tree, struct error *err)
{
    sqlite3_stmt *processes = NULL;
    sqlite3_stmt *select = NULL;
    struct output outputs[2] = {{.insert = NULL}, {.insert = NULL}};
    int code = database_prepare(db, "SELECT process_id, sample_bytes IS NOT NULL FROM processes",
                                &processes, err);

    if (code == 0)
        code = database_prepare(
            db,
            "SELECT backtrace_id, allocated_blocks, allocated_bytes, leaked_bytes, peak_bytes,"
            " temporary_blocks, allocated_blocks_margin, allocated_bytes_margin, leaked_bytes_margin,"
            " peak_bytes_margin FROM backtrace_totals WHERE process_id = ?",
            &select, err);
    if (code == 0)
        code = prepare_outputs(db, tree, outputs, err);
    while (code == 0 && sqlite3_step(processes) == SQLITE_ROW) {
        const struct process process = {sqlite3_column_int64(processes, 0),
                                        sqlite3_column_int(processes, 1) != 0};
        code = write_process(db, tree, &process, select, outputs, err);
    }
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
