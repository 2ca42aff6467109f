/* SPDX-License-Identifier: MIT */
#include "queries/core/call_tree.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/saturating.h"
#include "queries/core/query.h"
#include "queries/core/stack_weights.h"

#include <stdlib.h>
#include <string.h>

uint64_t call_tree_key(const struct stack_position *position)
{
    if (position->function_id)
        return (uint64_t)position->function_id << 1;
    return (uint64_t)position->object_id << 1 | 1;
}

const char *call_tree_name(const struct stack_position *position)
{
    if (position->function)
        return position->function;
    return position->module ? position->module : "?";
}

uint32_t call_tree_add(struct call_tree *tree, uint32_t parent, uint64_t key)
{
    struct call_node *nodes =
        dynamic_array_reserve(tree->nodes, &tree->capacity, (size_t)tree->n + 1, sizeof(*nodes));
    struct call_node *node;

    if (!nodes)
        return CALL_TREE_NONE;
    tree->nodes = nodes;
    node = &nodes[tree->n];
    *node = (struct call_node){.parent = parent,
                               .first_child = CALL_TREE_NONE,
                               .next_sibling = CALL_TREE_NONE,
                               .key = key};
    if (parent != CALL_TREE_NONE) {
        node->depth = nodes[parent].depth + 1;
        node->next_sibling = nodes[parent].first_child;
        nodes[parent].first_child = tree->n;
    }
    return tree->n++;
}

struct sought {
    const struct call_node *nodes;
    uint32_t parent;
};

static bool is_child(const void *context, uint32_t id, const void *key)
{
    const struct sought *sought = context;
    const struct call_node *node = &sought->nodes[id - 1];

    return node->key == *(const uint64_t *)key && node->parent == sought->parent;
}

/* Finds or creates the child of a position; CALL_TREE_NONE: no memory. */
static uint32_t get_child(struct call_tree *tree, uint32_t parent,
                          const struct stack_position *position)
{
    const uint64_t key = call_tree_key(position);
    const uint64_t hash = hash_map_mix(key, parent * UINT64_C(0xc2b2ae3d27d4eb4f));
    const struct sought sought = {tree->nodes, parent};
    uint32_t node;

    if (!position->function_id && parent != 0 && tree->nodes[parent].key == key)
        return parent; /* a run of unnamed frames of one module is one box */
    node = id_table_find(&tree->table, hash, is_child, &sought, &key);
    if (node)
        return node - 1;
    node = call_tree_add(tree, parent, key);
    if (node == CALL_TREE_NONE || id_table_add(&tree->table, hash, node + 1) != 0)
        return CALL_TREE_NONE;
    tree->nodes[node].name = call_tree_name(position);
    tree->nodes[node].module = position->module;
    return node;
}

/* Goes down along one frame, outermost position first or innermost first. */
static uint32_t descend(struct call_tree *tree, uint32_t node, const struct stack_weights *weights,
                        int64_t frame_id, bool is_innermost_first)
{
    size_t n;
    const struct stack_position *frame = stack_weights_frame(weights, frame_id, &n);

    for (size_t i = 0; i < n && node != CALL_TREE_NONE; i++)
        node = get_child(tree, node, &frame[is_innermost_first ? i : n - 1 - i]);
    return node;
}

static void weigh(struct call_tree *tree, uint32_t node, const struct stack_weight *weight)
{
    saturating_grow(&tree->nodes[node].self_bytes, weight->bytes);
    saturating_grow(&tree->nodes[node].self_blocks, weight->blocks);
    tree->nodes[node].bytes_square += weight->bytes_square;
    tree->nodes[node].blocks_square += weight->blocks_square;
}

static int add_bottom_up(struct call_tree *tree, const struct stack_weights *weights,
                         struct error *err)
{
    for (size_t i = 0; i < weights->n; i++) {
        uint32_t node = 0;
        int rc = rundb_go_on(weights->database, err);

        if (rc != 0)
            return rc;
        for (int64_t id = weights->list[i].backtrace_id; id && node != CALL_TREE_NONE;
             id = weights->nodes[id].parent_id)
            node = descend(tree, node, weights, weights->nodes[id].frame_id, true);
        if (node == CALL_TREE_NONE)
            return error_set(err, ERROR_NOMEM, "no memory for a call tree of %u nodes", tree->n);
        weigh(tree, node, &weights->list[i]);
    }
    return 0;
}

/* Marks the stacks that have a weight, and their callers. */
static void mark(const struct stack_weights *weights, uint32_t *places)
{
    for (size_t i = 0; i < weights->n; i++) {
        for (int64_t id = weights->list[i].backtrace_id; id && !places[id];
             id = weights->nodes[id].parent_id)
            places[id] = 1;
    }
}

/* Ids are in preorder: a caller's node exists before its callees need it. Each stack node is
 * visited once, however many stacks contain it. */
static int add_top_down(struct call_tree *tree, const struct stack_weights *weights,
                        struct error *err)
{
    uint32_t *places = calloc((size_t)weights->n_nodes + 1, sizeof(*places));
    size_t next = 0;
    uint32_t node = 0;

    if (places)
        mark(weights, places);
    for (int64_t id = 1; places && id < weights->n_nodes && node != CALL_TREE_NONE; id++) {
        const struct stack_node *of = &weights->nodes[id];

        if (!places[id])
            continue;
        node =
            descend(tree, of->parent_id ? places[of->parent_id] : 0, weights, of->frame_id, false);
        places[id] = node;
        if (node != CALL_TREE_NONE && next < weights->n && weights->list[next].backtrace_id == id)
            weigh(tree, node, &weights->list[next++]);
    }
    free(places);
    return places && node != CALL_TREE_NONE
               ? 0
               : error_set(err, ERROR_NOMEM, "no memory for a call tree of %u nodes", tree->n);
}

static void sum_totals(struct call_tree *tree)
{
    for (uint32_t i = tree->n; i-- > 0;) {
        struct call_node *node = &tree->nodes[i];

        saturating_grow(&node->total_bytes, node->self_bytes);
        saturating_grow(&node->total_blocks, node->self_blocks);
        if (node->parent == CALL_TREE_NONE)
            continue;
        saturating_grow(&tree->nodes[node->parent].total_bytes, node->total_bytes);
        saturating_grow(&tree->nodes[node->parent].total_blocks, node->total_blocks);
        tree->nodes[node->parent].bytes_square += node->bytes_square;
        tree->nodes[node->parent].blocks_square += node->blocks_square;
    }
}

int call_tree_build(struct call_tree *tree, const struct stack_weights *weights, bool is_bottom_up,
                    struct error *err)
{
    int rc;

    *tree = (struct call_tree){.is_estimate = weights->is_estimate};
    if (call_tree_add(tree, CALL_TREE_NONE, 0) == CALL_TREE_NONE)
        return error_set(err, ERROR_NOMEM, "no memory for a call tree");
    tree->nodes[0].name = "all";
    rc = is_bottom_up ? add_bottom_up(tree, weights, err) : add_top_down(tree, weights, err);
    sum_totals(tree);
    return rc;
}

/* ---- order ---- */

struct sibling {
    int64_t weight;
    const char *name;
    uint32_t node;
};

static int compare_siblings(const void *left, const void *right)
{
    const struct sibling *a = left;
    const struct sibling *b = right;
    int names;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    names = strcmp(a->name, b->name);
    return names ? names : a->node > b->node ? 1 : -1;
}

static size_t collect_children(const struct call_tree *tree, uint32_t parent, bool is_by_blocks,
                               struct sibling *siblings)
{
    size_t n = 0;

    for (uint32_t child = tree->nodes[parent].first_child; child != CALL_TREE_NONE;
         child = tree->nodes[child].next_sibling) {
        const struct call_node *node = &tree->nodes[child];
        siblings[n++] = (struct sibling){is_by_blocks ? node->total_blocks : node->total_bytes,
                                         node->name, child};
    }
    return n;
}

int call_tree_sort(struct call_tree *tree, bool is_by_blocks, struct error *err)
{
    struct sibling *siblings = reallocarray(NULL, tree->n, sizeof(*siblings));

    if (!siblings)
        return error_set(err, ERROR_NOMEM, "no memory to sort %u nodes", tree->n);
    for (uint32_t i = 0; i < tree->n; i++) {
        size_t n = collect_children(tree, i, is_by_blocks, siblings);

        if (n < 2)
            continue;
        qsort(siblings, n, sizeof(*siblings), compare_siblings);
        tree->nodes[i].first_child = siblings[0].node;
        for (size_t c = 0; c < n; c++)
            tree->nodes[siblings[c].node].next_sibling =
                c + 1 < n ? siblings[c + 1].node : CALL_TREE_NONE;
    }
    free(siblings);
    return 0;
}

void call_tree_done(struct call_tree *tree)
{
    free(tree->nodes);
    id_table_done(&tree->table);
    *tree = (struct call_tree){0};
}

int call_tree_load(struct call_tree *tree, struct stack_weights *weights, const struct query *query,
                   struct error *err)
{
    const struct query_options *options = query->options;
    enum stack_measure measure;
    int rc = stack_measure_of(query, &measure, err);

    if (rc == 0)
        rc = stack_weights_load(weights, query, options->process_id, measure, err);
    if (rc == 0)
        rc = call_tree_build(tree, weights, options->is_inverted, err);
    if (rc == 0)
        rc = call_tree_sort(tree, options->is_by_blocks, err);
    return rc;
}
