/* SPDX-License-Identifier: MIT */
/*
 * call_tree: weighted stacks, merged by function into one tree.
 *
 * Node 0 is the root. Below it come the outermost functions (top-down) or the innermost functions
 * (bottom-up). A position without a function is named by its module, without a module "?". Inlined
 * calls are nodes of their own.
 *
 * Invariants
 *   C-1 A parent's index is lower than the indexes of its children.
 *   C-2 total = self + the totals of the children.
 *   C-3 call_tree_sort orders siblings by weight, largest first, then by name: the same data gives
 *       the same tree.
 *
 * Ownership: names belong to the stack_weights, which must live as long as the tree.
 */
#ifndef MTRACE_QUERIES_CALL_TREE_H
#define MTRACE_QUERIES_CALL_TREE_H

#include "lib/base/hash_map.h"

struct error;
struct query;
struct stack_weights;
struct stack_position;

#define CALL_TREE_NONE UINT32_MAX

struct call_node {
    const char *name;   /* function, else module, else "?" */
    const char *module; /* of the first merged position; NULL: none */
    uint32_t parent, first_child, next_sibling;
    uint32_t depth;
    uint64_t key; /* positions with this key are merged here */
    int64_t self_bytes, self_blocks;
    int64_t total_bytes, total_blocks;
    double bytes_square, blocks_square; /* squared margins of the totals if they are estimates */
};

struct call_tree {
    struct call_node *nodes;
    uint32_t n;
    size_t capacity;
    bool is_estimate;      /* like the weights it is built from */
    struct id_table table; /* index of a node + 1, by (parent, key) */
};

/* Finds or adds the child of a parent with this key, or the root for CALL_TREE_NONE. The caller
 * sets name and weights. CALL_TREE_NONE: no memory. */
uint32_t call_tree_add(struct call_tree *tree, uint32_t parent, uint64_t key);

/* Call call_tree_done also after a failure. */
int call_tree_build(struct call_tree *tree, const struct stack_weights *weights, bool is_bottom_up,
                    struct error *err);
int call_tree_sort(struct call_tree *tree, bool is_by_blocks, struct error *err);
void call_tree_done(struct call_tree *tree);

/* Loads the weights that the query's options select, builds the tree and sorts it. Call
 * stack_weights_done and call_tree_done also after a failure. */
int call_tree_load(struct call_tree *tree, struct stack_weights *weights, const struct query *query,
                   struct error *err);

/* The merge key and the name of a position. Positions of one function have the same key. */
uint64_t call_tree_key(const struct stack_position *position);
const char *call_tree_name(const struct stack_position *position);

#endif
