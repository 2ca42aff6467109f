/* SPDX-License-Identifier: MIT */
/*
 * object_tree: the nodes of a walk over objects, by the names on their path, with counts and sizes.
 *
 * A node stands for all objects with one path of names. It is found by its parent and name. Arrays
 * grow by copying to a mapping twice as large, so nodes are referred to by index. Node 0 is the
 * root.
 *
 * Invariants
 *   OT-1 The index of a parent is lower than those of its children.
 *   OT-2 A path has at most OBJECT_TREE_DEPTH nodes.
 *
 * Threads: one at a time. Not async-signal-safe. On failure OBJECT_TREE_NONE or NULL.
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
    OBJECT_TREE_NAME_BYTES = 256, /* longer names are truncated */
};

/* A dynamic array; all zero: empty. Fork children inherit it, because the program holds walks. */
struct object_array {
    void *items;
    size_t n, capacity;
};

/* Space for one more item at index n, which the caller increments. NULL: no memory. */
void *object_array_next(struct object_array *array, size_t item_bytes);
void object_array_done(struct object_array *array, size_t item_bytes);

struct object_node {
    const char *name;
    uint32_t parent;
    uint32_t next_in_bucket; /* index + 1 */
    uint16_t depth;
    uint8_t kind; /* enum log_object_kind */
    uint64_t n_objects;
    uint64_t self_bytes; /* declared, without members */
};

struct object_tree {
    struct object_array nodes;  /* struct object_node */
    struct object_array chunks; /* char *, names one after the other */
    struct object_array hashes; /* uint32_t, buckets: index + 1 */
    size_t chunk_used;
};

/* False: no memory. Call object_tree_done in either case. */
bool object_tree_init(struct object_tree *tree);
void object_tree_done(struct object_tree *tree);

static inline struct object_node *object_tree_node(const struct object_tree *tree, uint32_t index)
{
    return &((struct object_node *)tree->nodes.items)[index];
}

/* The child of this name; created if there is none. */
uint32_t object_tree_child(struct object_tree *tree, uint32_t parent, const char *name,
                           enum log_object_kind kind);

/* The target of a pointer: its child of that name. If a node on the path above has that name and
 * lies below a pointer with the same key, that node (a recursive type). */
uint32_t object_tree_target(struct object_tree *tree, uint32_t pointer, const char *name);

/* Copies text; the copy lives as long as the tree. NULL: no memory. */
const char *object_tree_line(struct object_tree *tree, const char *text);

/* Writes the names of the path, separated by `;`, as far as they fit. Returns the length. */
size_t object_tree_path(const struct object_tree *tree, uint32_t node, char *out,
                        size_t capacity_bytes);

#endif
