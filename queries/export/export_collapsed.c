/* SPDX-License-Identifier: MIT */
/*
 * flamegraph.pl: collapsed stacks of one measure, one "outermost;…;innermost NUMBER" per line.
 *
 * Stacks with equal names are one line. The format has no escapes: ';' and line ends in names
 * become ':' and blanks. Lines are as long as their stacks are deep, so their total may be
 * quadratic and is never in memory. A tree of names is in memory, and the lines are written from it
 * one by one.
 */
#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/export/export_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

struct names {
    uint32_t *of_position; /* equal where names read the same, and in their order */
    const char **texts;    /* by that number */
};

struct named {
    const char *text;
    size_t position;
};

static char plain(char letter)
{
    return letter == ';' ? ':' : letter == '\n' ? ' ' : letter;
}

static int compare_texts(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return (unsigned char)plain(*a) - (unsigned char)plain(*b);
}

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left;
    const struct named *b = right;

    return a->text == b->text ? 0 : compare_texts(a->text, b->text);
}

static void number_names(struct names *names, struct named *list, size_t n)
{
    uint32_t number = 0;

    qsort(list, n, sizeof(*list), compare_named);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && compare_named(&list[i - 1], &list[i]) != 0)
            number++;
        names->texts[number] = list[i].text;
        names->of_position[list[i].position] = number;
    }
}

static int read_names(const struct stack_weights *stacks, struct names *names, struct error *err)
{
    const size_t n = stacks->n_positions;
    struct named *list = reallocarray(NULL, n + 1, sizeof(*list));

    names->of_position = calloc(n + 1, sizeof(*names->of_position));
    names->texts = calloc(n + 1, sizeof(*names->texts));
    if (!list || !names->of_position || !names->texts) {
        free(list);
        return error_set(err, ERROR_NOMEM, "no memory for %zu names", n);
    }
    for (size_t i = 0; i < n; i++) {
        const struct stack_position *position = &stacks->positions[i];
        const char *text = position->function ? position->function : position->module;

        list[i] = (struct named){text ? text : "??", i};
    }
    number_names(names, list, n);
    free(list);
    return 0;
}

/* ---- the tree ---- */

/* Nodes are counted from 1, in the order in which they were made: callers first. */
struct node {
    uint32_t caller; /* 0: none */
    uint32_t name;
    int64_t weight;
    size_t length; /* of its line, while it is written */
};

enum {
    KEY_BYTES = 2 * sizeof(uint32_t)
};

struct tree {
    struct hash_map nodes;
    uint32_t *of_stack; /* by backtrace_id */
};

static struct node *node_at(const struct tree *tree, uint32_t number)
{
    return (struct node *)tree->nodes.elements + (number - 1);
}

/* Finds or creates the child of a node with this name; 0: no memory. */
static uint32_t get_called(struct tree *tree, uint32_t caller, uint32_t name)
{
    const struct node key = {.caller = caller, .name = name};
    const struct node *node = hash_map_get(&tree->nodes, &key, KEY_BYTES, sizeof(key));

    return node ? (uint32_t)(node - (const struct node *)tree->nodes.elements) + 1 : 0;
}

static int add_frame(struct tree *tree, const struct stack_weights *stacks,
                     const struct names *names, int64_t id, struct error *err)
{
    uint32_t at = tree->of_stack[stacks->nodes[id].parent_id];
    size_t n;
    const struct stack_position *frame =
        stack_weights_frame(stacks, stacks->nodes[id].frame_id, &n);

    while (n-- > 0) {
        at = get_called(tree, at, names->of_position[&frame[n] - stacks->positions]);
        if (at == 0)
            return error_set(err, ERROR_NOMEM, "no memory for a tree of %zu calls", tree->nodes.n);
    }
    tree->of_stack[id] = at;
    return 0;
}

static void weigh(const struct tree *tree, const struct stack_weights *stacks, bool is_by_blocks)
{
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack_weight *weight = &stacks->list[i];
        struct node *node = node_at(tree, tree->of_stack[weight->backtrace_id]);

        saturating_grow(&node->weight, is_by_blocks ? weight->blocks : weight->bytes);
    }
}

/* Ids are in preorder: a caller's node exists before its callees need it. */
static int build(struct tree *tree, const struct stack_weights *stacks, const struct names *names,
                 struct error *err)
{
    int rc = 0;

    tree->of_stack = calloc((size_t)stacks->n_nodes + 1, sizeof(*tree->of_stack));
    if (!tree->of_stack)
        return error_set(err, ERROR_NOMEM, "no memory for stacks");
    for (int64_t id = 1; rc == 0 && id < stacks->n_nodes; id++)
        rc = add_frame(tree, stacks, names, id, err);
    return rc;
}

/* ---- lines ---- */

struct lines {
    const struct export_job *job;
    const struct names *names;
    const struct tree *tree;
    uint32_t *called; /* nodes in the order of their callers and names */
    uint32_t *first;  /* by caller, of these; they end where those of the next begin */
    uint32_t *ahead;  /* nodes that are not written yet; what is on top comes next */
    size_t n_ahead;
    char *text;
    size_t capacity;
};

static int compare_called(const void *left, const void *right, void *tree)
{
    const struct node *a = node_at(tree, *(const uint32_t *)left);
    const struct node *b = node_at(tree, *(const uint32_t *)right);

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static int sort_called(struct lines *lines, struct error *err)
{
    const size_t n = lines->tree->nodes.n;

    lines->called = reallocarray(NULL, n + 1, sizeof(*lines->called));
    lines->first = calloc(n + 2, sizeof(*lines->first));
    lines->ahead = reallocarray(NULL, n + 1, sizeof(*lines->ahead));
    if (!lines->called || !lines->first || !lines->ahead)
        return error_set(err, ERROR_NOMEM, "no memory to sort %zu calls", n);
    for (uint32_t i = 0; i < n; i++) {
        lines->called[i] = i + 1;
        lines->first[node_at(lines->tree, i + 1)->caller + 1]++;
    }
    for (size_t i = 0; i <= n; i++)
        lines->first[i + 1] += lines->first[i];
    qsort_r(lines->called, n, sizeof(*lines->called), compare_called,
            (void *)(uintptr_t)lines->tree);
    return 0;
}

static void put_ahead(struct lines *lines, uint32_t caller)
{
    for (uint32_t i = lines->first[caller + 1]; i > lines->first[caller]; i--)
        lines->ahead[lines->n_ahead++] = lines->called[i - 1];
}

/* Appends the node's name to the line of its caller. */
static int add_name(struct lines *lines, struct node *node, struct error *err)
{
    const char *name = lines->names->texts[node->name];
    const size_t length = strlen(name);
    size_t at = node->caller ? node_at(lines->tree, node->caller)->length : 0;
    char *text = dynamic_array_reserve(lines->text, &lines->capacity, at + length + 1, 1);

    if (!text)
        return error_set(err, ERROR_NOMEM, "no memory for a line of %zu bytes", at + length);
    lines->text = text;
    if (at > 0)
        text[at++] = ';';
    for (size_t i = 0; i < length; i++)
        text[at++] = plain(name[i]);
    node->length = at;
    return 0;
}

static int put_lines(struct lines *lines, struct error *err)
{
    FILE *out = lines->job->out;
    int rc = sort_called(lines, err);

    if (rc == 0)
        put_ahead(lines, 0);
    while (rc == 0 && lines->n_ahead > 0) {
        uint32_t number = lines->ahead[--lines->n_ahead];
        struct node *node = node_at(lines->tree, number);

        rc = add_name(lines, node, err);
        if (rc == 0 && node->weight != 0) {
            (void)fwrite(lines->text, 1, node->length, out);
            (void)fprintf(out, " %" PRId64 "\n", node->weight);
            rc = rundb_go_on(&lines->job->query->database, err);
        }
        put_ahead(lines, number);
    }
    free(lines->called);
    free(lines->first);
    free(lines->ahead);
    free(lines->text);
    return rc;
}

int export_collapsed_run(struct export_job *job, struct error *err)
{
    struct names names = {.texts = NULL};
    struct tree tree = {.of_stack = NULL};
    struct lines lines = {.job = job, .names = &names, .tree = &tree};
    int rc = read_names(&job->stacks, &names, err);

    if (rc == 0)
        rc = build(&tree, &job->stacks, &names, err);
    if (rc == 0) {
        weigh(&tree, &job->stacks, job->query->options->is_by_blocks);
        rc = put_lines(&lines, err);
    }
    hash_map_done(&tree.nodes);
    free(tree.of_stack);
    free(names.of_position);
    free(names.texts);
    return rc;
}
