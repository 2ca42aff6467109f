/* SPDX-License-Identifier: MIT */
/*
 * object_tree: the nodes of a walk over objects: names, what is where in it, and how much it takes.
 *
 * Model:   a node stands for all objects with one path of names; it is found by its parent and name.
 *          Arrays grow by mappings twice as large, so nodes are known by their index. Node 0 is the root.
 * Invariants
 *   OT-1 A parent's index is lower than its children's.
 *   OT-2 A path has at most OBJECT_TREE_DEPTH nodes.
 * Threads: one at a time. Signals: no. Failure: OBJECT_TREE_NONE, or NULL.
 */
#ifndef MTRACE_COLLECTOR_OBJECT_TREE_H
#define MTRACE_COLLECTOR_OBJECT_TREE_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OBJECT_TREE_NONE UINT32_MAX

enum {
    OBJECT_TREE_DEPTH = 200,
    OBJECT_TREE_NAME_BYTES = 256, /* longer names are cut */
};

/* An array that grows; all zero: empty. Stays in fork children, as the program holds walks. */
struct object_array {
    void *items;
    size_t n, capacity;
};

/* Room for one more of item_bytes behind n; NULL: no memory. */
void *object_array_next(struct object_array *array, size_t item_bytes);
void object_array_done(struct object_array *array, size_t item_bytes);

struct object_node {
    const char *name;
    uint32_t parent;
    uint32_t next_in_bucket; /* index + 1 */
    uint16_t depth;
    uint8_t kind; /* enum log_object_kind */
    uint64_t n_objects;
    uint64_t self_bytes; /* declared, less what members take */
};

struct object_tree {
    struct object_array nodes;  /* struct object_node */
    struct object_array chunks; /* char *, names one behind the other */
    struct object_array hashes; /* uint32_t, buckets: index + 1 */
    size_t chunk_used;
};

/* false: no memory. object_tree_done in any case. */
bool object_tree_init(struct object_tree *tree);
void object_tree_done(struct object_tree *tree);

static inline struct object_node *object_tree_node(const struct object_tree *tree, uint32_t index)
{
    return &((struct object_node *)tree->nodes.items)[index];
}

/* The child, made if there is none. */
uint32_t object_tree_child(struct object_tree *tree, uint32_t parent, const char *name,
                           enum log_object_kind kind);

/* What a pointer of node `pointer` leads to: the child of that name, or where a node of that name stands on
 * the path already, below a pointer with the same key, that one. */
uint32_t object_tree_target(struct object_tree *tree, uint32_t pointer, const char *name);

/* A copy that lives as long as the tree; NULL: no memory. */
const char *object_tree_line(struct object_tree *tree, const char *text);

/* Names of the path, `;` between; as much as fits. Returns the length. */
size_t object_tree_path(const struct object_tree *tree, uint32_t node, char *out,
                        size_t capacity_bytes);

#endif
