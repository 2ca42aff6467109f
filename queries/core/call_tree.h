/* SPDX-License-Identifier: MIT */
/*
 * call_tree: weighted stacks merged by function into one tree.
 *
 * Model: node 0 is everything. Below it, outermost functions first (top-down), or innermost ones
 *        first (bottom-up: whose memory it is, and who called it). A position without a function
 *        goes by its module, one without either is "?". Inlined calls are nodes like others.
 * Invariants: C-1 a parent's index is lower than its children's. C-2 total = self + the totals of
 *        the children. C-3 after call_tree_sort siblings come by weight, largest first, ties by
 *        name, so that the same data always gives the same tree.
 * Ownership: names are those of the stack_weights, which must live as long.
 */
#ifndef MTRACE_QUERIES_CALL_TREE_H
#define MTRACE_QUERIES_CALL_TREE_H

#include "lib/base/id_table.h"

struct error;
struct query;
struct stack_weights;
struct stack_position;

#define CALL_TREE_NONE UINT32_MAX

struct call_node {
    const char *name;   /* function, else module, else "?" */
    const char *module; /* of the first position that was merged; NULL: none */
    uint32_t parent, first_child, next_sibling;
    uint32_t depth;
    uint64_t key; /* what positions have in common that are merged here */
    int64_t self_bytes, self_blocks;
    int64_t total_bytes, total_blocks;
    double bytes_square, blocks_square; /* of the margins of the totals, where they are estimates */
};

struct call_tree {
    struct call_node *nodes;
    uint32_t n;
    size_t capacity;
    bool is_estimate;      /* as of the weights that it is built from */
    struct id_table table; /* index of a node + 1, by (parent, key) */
};

/* A node below the parent, or with CALL_TREE_NONE the root; the caller gives it a name and figures. CALL_TREE_NONE: no
 * memory. */
uint32_t call_tree_add(struct call_tree *tree, uint32_t parent, uint64_t key);

/* Call call_tree_done in any case. */
int call_tree_build(struct call_tree *tree, const struct stack_weights *weights, bool is_bottom_up,
                    struct error *err);
int call_tree_sort(struct call_tree *tree, bool is_by_blocks, struct error *err);
void call_tree_done(struct call_tree *tree);

/* What the options of a query ask for: its weights, built into a tree and sorted. Both must be done
 * in any case. */
int call_tree_load(struct call_tree *tree, struct stack_weights *weights, const struct query *query,
                   struct error *err);

/* What positions of one function have in common, and how it is called. */
uint64_t call_tree_key(const struct stack_position *position);
const char *call_tree_name(const struct stack_position *position);

#endif
