/* SPDX-License-Identifier: MIT */
/*
 * callers FUNCTION: its callers, weighted by the memory allocated below them. callees FUNCTION: the
 * functions that it called. A stack counts once per neighbour, however often the function recurses.
 * Calls of the function by itself are not counted as neighbours.
 */
#include "lib/abi/invariant.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/base/units.h"
#include "queries/core/call_tree.h"
#include "queries/core/computed_rows.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"
#include "queries/render/shorten.h"
#include "queries/reports/reports.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 1024
};

struct neighbour {
    const struct stack_position *example; /* NULL: not found */
    int64_t bytes, blocks;
    size_t last_stack; /* the last stack that was counted, from 1 */
    bool is_no_group;  /* the end of the stack */
};

struct relation {
    const struct stack_weights *weights;
    bool is_callers;
    bool *is_wanted; /* by function_id */
    int64_t n_functions;
    struct neighbour *list; /* by call_tree_key; the last one is the end of the stack */
    size_t n;
    int64_t total_bytes, total_blocks;
};

/* "Registry<..>::add" -> "Registry::add" */
static void drop_arguments(char *text)
{
    static const char arguments[] = "<..>";
    char *at = text;

    while ((at = strstr(at, arguments)) != NULL)
        memmove(at, at + strlen(arguments), strlen(at + strlen(arguments)) + 1);
}

/* True for the full name, the raw name, the short name with or without template arguments, or its
 * last component. */
static bool is_name(const struct stack_position *position, const char *name)
{
    char text[NAME_BYTES];
    size_t length;
    size_t wanted = strlen(name);

    if (!position->function)
        return false;
    if (strcmp(position->function, name) == 0 || strcmp(position->raw_name, name) == 0)
        return true;
    shorten_function(position->function, text, sizeof(text));
    if (!strchr(name, '<'))
        drop_arguments(text);
    length = strlen(text);
    if (length < wanted || strcmp(text + length - wanted, name) != 0)
        return false;
    return length == wanted
           || (length > wanted + 1 && strncmp(text + length - wanted - 2, "::", 2) == 0);
}

static int find_functions(struct relation *relation, const char *name, struct error *err)
{
    const struct stack_weights *weights = relation->weights;
    uint64_t max_key = 0;

    for (size_t i = 0; i < weights->n_positions; i++) {
        const struct stack_position *position = &weights->positions[i];
        if (call_tree_key(position) > max_key)
            max_key = call_tree_key(position);
        if (position->function_id >= relation->n_functions)
            relation->n_functions = position->function_id + 1;
    }
    relation->n = (size_t)max_key + 2;
    relation->list = calloc(relation->n, sizeof(*relation->list));
    relation->is_wanted = calloc((size_t)relation->n_functions + 1, sizeof(bool));
    if (!relation->list || !relation->is_wanted)
        return error_set(err, ERROR_NOMEM, "no memory for %zu functions", relation->n);
    bool is_known = false;
    for (size_t i = 0; i < weights->n_positions; i++) {
        const struct stack_position *position = &weights->positions[i];
        bool *is_wanted = &relation->is_wanted[position->function_id];
        *is_wanted = *is_wanted || is_name(position, name);
        is_known = is_known || *is_wanted;
    }
    return is_known
               ? 0
               : error_set(err, ERROR_NOT_FOUND,
                           "no function is called '%s'; mtrace-query by-function lists them", name);
}

static bool is_wanted(const struct relation *relation, const struct stack_position *position)
{
    MTRACE_ASSERT(position);
    return position->function_id && relation->is_wanted[position->function_id];
}

static void count(struct relation *relation, const struct stack_position *position, size_t key,
                  const struct stack_weight *weight, size_t stack)
{
    struct neighbour *neighbour = &relation->list[key];

    if (neighbour->last_stack == stack)
        return;
    neighbour->last_stack = stack;
    neighbour->example = position;
    saturating_grow(&neighbour->bytes, weight->bytes);
    saturating_grow(&neighbour->blocks, weight->blocks);
}

/* positions: outermost first. */
static void add_stack(struct relation *relation, const struct stack_position **positions, size_t n,
                      const struct stack_weight *weight, size_t stack)
{
    bool is_met = false;

    for (size_t i = 0; i < n; i++) {
        bool is_end = relation->is_callers ? i == 0 : i + 1 == n;
        const struct stack_position *next =
            is_end ? NULL : positions[relation->is_callers ? i - 1 : i + 1];

        if (!is_wanted(relation, positions[i]))
            continue;
        is_met = true;
        if (!next)
            count(relation, positions[i], relation->n - 1, weight, stack);
        else if (!is_wanted(relation, next))
            count(relation, next, (size_t)call_tree_key(next), weight, stack);
    }
    if (is_met) {
        saturating_grow(&relation->total_bytes, weight->bytes);
        saturating_grow(&relation->total_blocks, weight->blocks);
    }
}

static int add_stacks(struct relation *relation, struct error *err)
{
    const struct stack_weights *weights = relation->weights;
    const struct stack_position **positions =
        reallocarray(NULL, weights->max_positions + 1, sizeof(const struct stack_position *));
    int rc = 0;

    if (!positions)
        return error_set(err, ERROR_NOMEM, "no memory for a stack");
    for (size_t i = 0; rc == 0 && i < weights->n; i++) {
        size_t n = stack_weights_positions(weights, weights->list[i].backtrace_id, positions);
        add_stack(relation, positions, n, &weights->list[i], i + 1);
        rc = rundb_go_on(weights->database, err);
    }
    free(positions);
    return rc;
}

/* ---- the answer ---- */

static int compare_neighbours(const void *left, const void *right, void *by_blocks)
{
    const struct neighbour *a = left;
    const struct neighbour *b = right;
    int64_t first = *(const bool *)by_blocks ? a->blocks : a->bytes;
    int64_t second = *(const bool *)by_blocks ? b->blocks : b->bytes;

    if (first != second)
        return first > second ? -1 : 1;
    return strcmp(a->example ? call_tree_name(a->example) : "",
                  b->example ? call_tree_name(b->example) : "");
}

static void add_row(const struct relation *relation, const struct neighbour *neighbour,
                    bool is_by_blocks, struct computed_rows *rows)
{
    int64_t part = is_by_blocks ? neighbour->blocks : neighbour->bytes;
    int64_t total = is_by_blocks ? relation->total_blocks : relation->total_bytes;

    computed_rows_begin(rows);
    computed_rows_add_int64(rows, neighbour->bytes);
    computed_rows_add_int64(rows, neighbour->blocks);
    computed_rows_add_share(rows, total ? (double)part / (double)total : 0);
    computed_rows_add_text(rows, neighbour->is_no_group
                                     ? relation->is_callers ? "(no caller)" : "(of its own)"
                                     : neighbour->example->function);
    computed_rows_add_text(rows, neighbour->is_no_group ? NULL : neighbour->example->module);
    computed_rows_end(rows);
}

static void print_title(const struct query *query, const struct relation *relation)
{
    const struct stack_weights *weights = relation->weights;
    char bytes[UNITS_TEXT_BYTES];
    char blocks[UNITS_TEXT_BYTES];
    char share[UNITS_TEXT_BYTES];

    (void)fprintf(query->out, "%s of %s: %s, %s in %s %s, %s of all\n",
                  relation->is_callers ? "callers" : "callees", query->options->arguments[0],
                  stack_measure_title(query, weights->measure),
                  units_format_bytes(relation->total_bytes, bytes),
                  units_format_count(relation->total_blocks, blocks),
                  relation->total_blocks == 1 ? "block" : "blocks",
                  units_format_share(weights->total_bytes ? (double)relation->total_bytes
                                                                / (double)weights->total_bytes
                                                          : 0,
                                     share));
}

static int show(const struct relation *relation, struct query *query, struct error *err)
{
    bool is_by_blocks = query->options->is_by_blocks;
    struct computed_rows rows;
    int rc;

    relation->list[relation->n - 1].is_no_group = true;
    qsort_r(relation->list, relation->n, sizeof(*relation->list), compare_neighbours,
            &is_by_blocks);
    computed_rows_init(&rows, "bytes,blocks,share,function,module");
    for (size_t i = 0; i < relation->n; i++) {
        const struct neighbour *neighbour = &relation->list[i];
        if (neighbour->example)
            add_row(relation, neighbour, is_by_blocks, &rows);
    }
    if (query->style.format == RENDER_TABLE && !query->options->is_sql_shown)
        print_title(query, relation);
    rc = computed_rows_show(&rows, query, err);
    computed_rows_done(&rows);
    return rc;
}

static int run(struct query *query, bool is_callers, struct error *err)
{
    struct stack_weights weights = {0};
    struct relation relation = {.weights = &weights, .is_callers = is_callers};
    enum stack_measure measure;
    int rc = stack_measure_of(query, &measure, err);

    if (rc == 0)
        rc = stack_weights_load(&weights, query, query->options->process_id, measure, err);
    if (rc == 0)
        rc = find_functions(&relation, query->options->arguments[0], err);
    if (rc == 0)
        rc = add_stacks(&relation, err);
    if (rc == 0)
        rc = show(&relation, query, err);
    free(relation.list);
    free(relation.is_wanted);
    stack_weights_done(&weights);
    return rc;
}

int cmd_callers_run(struct query *query, struct error *err)
{
    return run(query, true, err);
}

int cmd_callees_run(struct query *query, struct error *err)
{
    return run(query, false, err);
}
