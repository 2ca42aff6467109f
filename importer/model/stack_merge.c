/* SPDX-License-Identifier: MIT */
#include "importer/model/stack_merge.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"

#include <stdlib.h>
#include <string.h>

/* Tree nodes that always exist. */
enum {
    NODE_COMPLETE = 1, /* parent of the roots of complete stacks; these three are no backtraces */
    NODE_TRUNCATED = 2,
    NODE_GUESSED = 3,
    NODE_STATUSES = 3,
    NODE_NO_BACKTRACE = 4,
    NODE_LOST = 5,
};

#define IN_PATH UINT32_MAX /* marks a log node that is being merged: meeting it again is a cycle */

static bool node_equals(const void *context, uint32_t id, const void *key)
{
    const struct stack_merge_node *node = &((const struct stack_merge *)context)->nodes[id];
    const struct stack_merge_node *wanted = key;
    return node->parent == wanted->parent && node->frame == wanted->frame;
}

static bool frame_equals(const void *context, uint32_t id, const void *key)
{
    const struct definitions_frame *frame = &((const struct stack_merge *)context)->frames[id];
    const struct definitions_frame *wanted = key;
    return frame->offset == wanted->offset && frame->object == wanted->object
           && frame->is_exact == wanted->is_exact && frame->label == wanted->label;
}

/* Returns the id of a frame; 0: no memory. */
static uint32_t intern_frame(struct stack_merge *merge, const struct definitions_frame *frame)
{
    uint64_t hash = id_table_hash(frame->offset, (uint64_t)frame->object << 1 | frame->is_exact);
    uint32_t id = id_table_find(&merge->frame_table, hash, frame_equals, merge, frame);
    struct definitions_frame *frames;

    if (id)
        return id;
    frames = dynamic_array_reserve(merge->frames, &merge->frames_capacity, merge->n_frames + 2,
                                   sizeof(*frames));
    if (!frames)
        return 0;
    merge->frames = frames;
    id = (uint32_t)merge->n_frames + 1;
    if (id_table_add(&merge->frame_table, hash, id) != 0)
        return 0;
    frames[id] = *frame;
    merge->n_frames++;
    return id;
}

/* Returns the tree node below `parent`; 0: no memory. */
static uint32_t intern_node(struct stack_merge *merge, uint32_t parent, uint32_t frame)
{
    struct stack_merge_node key = {.parent = parent, .frame = frame};
    uint64_t hash = id_table_hash(parent, frame);
    uint32_t id = id_table_find(&merge->node_table, hash, node_equals, merge, &key);
    struct stack_merge_node *nodes;

    if (id || frame == 0)
        return id;
    nodes = dynamic_array_reserve(merge->nodes, &merge->nodes_capacity, merge->n_nodes + 2,
                                  sizeof(*nodes));
    if (!nodes)
        return 0;
    merge->nodes = nodes;
    id = (uint32_t)merge->n_nodes + 1;
    if (id_table_add(&merge->node_table, hash, id) != 0)
        return 0;
    nodes[id] = key;
    merge->n_nodes++;
    return id;
}

int stack_merge_init(struct stack_merge *merge)
{
    struct definitions_frame none = {.label = "[no backtrace]"};
    struct definitions_frame lost = {.label = "[stack lost]"};

    memset(merge, 0, sizeof(*merge));
    merge->nodes =
        dynamic_array_reserve(NULL, &merge->nodes_capacity, NODE_LOST + 1, sizeof(*merge->nodes));
    if (!merge->nodes)
        return ERROR_NOMEM;
    merge->n_nodes = NODE_STATUSES;
    if (intern_node(merge, NODE_TRUNCATED, intern_frame(merge, &none)) != NODE_NO_BACKTRACE
        || intern_node(merge, NODE_TRUNCATED, intern_frame(merge, &lost)) != NODE_LOST)
        return ERROR_NOMEM;
    return 0;
}

void stack_merge_done(struct stack_merge *merge)
{
    free(merge->nodes);
    free(merge->frames);
    free(merge->path);
    id_table_done(&merge->node_table);
    id_table_done(&merge->frame_table);
    memset(merge, 0, sizeof(*merge));
}

static struct definitions_frame make_frame(const struct log_names *names,
                                           const struct node_note *note, uint64_t *n_lost)
{
    uint64_t address = note->address & ~LOG_NODE_EXACT;
    struct definitions_frame frame = {.offset = address,
                                      .is_exact = (note->address & LOG_NODE_EXACT) != 0};
    const struct module_note *module;

    if (note->module == 0)
        return frame;
    module = log_names_find_module(names, note->module);
    if (!module || !module->is_defined) {
        ++*n_lost;
        return frame;
    }
    frame.object = module->object;
    frame.offset = address - module->load_address;
    return frame;
}

/* A node that is in the log. */
static const struct node_note *get_node(const struct log_names *names, uint32_t node)
{
    return &names->node_pages[node / LOG_NAMES_PAGE][node % LOG_NAMES_PAGE];
}

static uint32_t *backtrace_slot(struct log_names *names, uint32_t node)
{
    return &names->backtrace_pages[node / LOG_NAMES_PAGE][node % LOG_NAMES_PAGE];
}

/* The tree node for a parent that is not in the log. */
static uint32_t tree_root(uint32_t parent, uint64_t *n_lost)
{
    if (parent >= LOG_NODE_COMPLETE && parent <= LOG_NODE_GUESSED)
        return NODE_COMPLETE + (parent - LOG_NODE_COMPLETE);
    ++*n_lost;
    return NODE_LOST;
}

static int push(struct stack_merge *merge, size_t *n, uint32_t node)
{
    uint32_t *path =
        dynamic_array_reserve(merge->path, &merge->path_capacity, *n + 1, sizeof(*path));

    if (!path)
        return ERROR_NOMEM;
    merge->path = path;
    path[(*n)++] = node;
    return 0;
}

/* Goes up to the nearest merged ancestor, then merges down to the node. No recursion: stacks of
 * 100,000 frames exist. */
static int merge_node(struct stack_merge *merge, struct log_names *names, uint32_t node,
                      uint64_t *n_lost)
{
    size_t n = 0;
    uint32_t tree = 0;

    while (tree == 0) {
        const struct node_note *note = log_names_find_node(names, node);
        uint32_t *slot;
        if (!note) {
            tree = tree_root(node, n_lost);
            break;
        }
        slot = backtrace_slot(names, node);
        if (*slot == IN_PATH)
            tree = tree_root(0, n_lost);
        else if (*slot != 0)
            tree = *slot;
        else if (push(merge, &n, node) != 0)
            return ERROR_NOMEM;
        else
            *slot = IN_PATH;
        node = note->parent;
    }
    while (n > 0) {
        uint32_t below = merge->path[--n];
        struct definitions_frame frame = make_frame(names, get_node(names, below), n_lost);
        tree = intern_node(merge, tree, intern_frame(merge, &frame));
        if (tree == 0)
            return ERROR_NOMEM;
        *backtrace_slot(names, below) = tree;
    }
    return 0;
}

int stack_merge_log(struct stack_merge *merge, struct log_names *names, uint64_t *ret_n_lost)
{
    for (size_t page = 0; page < names->n_pages; page++) {
        for (uint32_t i = 0; names->node_pages[page] && i < LOG_NAMES_PAGE; i++) {
            uint32_t node = (uint32_t)page * LOG_NAMES_PAGE + i;
            int r;
            if (!log_names_find_node(names, node) || *backtrace_slot(names, node) != 0)
                continue;
            r = merge_node(merge, names, node, ret_n_lost);
            if (r != 0)
                return r;
        }
    }
    return 0;
}

/* sizes[i] becomes the number of nodes in the subtree of i. */
static void count_subtrees(const struct stack_merge *merge, uint32_t *sizes)
{
    for (size_t i = 1; i <= merge->n_nodes; i++)
        sizes[i] = 1;
    for (size_t i = merge->n_nodes; i > NODE_STATUSES; i--)
        if (merge->nodes[i].parent > NODE_STATUSES)
            sizes[merge->nodes[i].parent] += sizes[i];
}

/*
 * Parents come first (SM-1), so each node can take the next free part of its parent's range. Once i
 * is placed, next[i] is where its next child goes; before, the size of its subtree.
 */
static void place(const struct stack_merge *merge, uint32_t *next,
                  struct definitions_backtrace *backtraces, uint32_t *numbers)
{
    uint32_t next_root = 1;

    for (size_t i = NODE_STATUSES + 1; i <= merge->n_nodes; i++) {
        uint32_t parent = merge->nodes[i].parent;
        bool is_root = parent <= NODE_STATUSES;
        uint32_t *at = is_root ? &next_root : &next[parent];
        uint32_t size = next[i];
        struct definitions_backtrace *backtrace = &backtraces[*at];
        const struct definitions_backtrace *above = &backtraces[is_root ? 0 : numbers[parent]];
        numbers[i] = *at;
        next[i] = *at + 1;
        *at += size;
        *backtrace = (struct definitions_backtrace){
            .parent = is_root ? 0 : numbers[parent],
            .last_descendant = numbers[i] + size - 1,
            .frame = merge->nodes[i].frame,
            .depth = above->depth + 1,
            .status = is_root ? DEFINITIONS_COMPLETE + (parent - NODE_COMPLETE) : above->status,
        };
    }
}

int stack_merge_number(struct stack_merge *merge, struct definitions *definitions,
                       uint32_t **ret_numbers)
{
    size_t n = merge->n_nodes + 1;
    uint32_t *numbers = calloc(n, sizeof(*numbers));
    uint32_t *sizes = calloc(n, sizeof(*sizes));
    struct definitions_backtrace *backtraces = calloc(n - NODE_STATUSES, sizeof(*backtraces));

    id_table_done(&merge->node_table);
    if (!numbers || !sizes || !backtraces) {
        free(numbers);
        free(sizes);
        free(backtraces);
        return ERROR_NOMEM;
    }
    count_subtrees(merge, sizes);
    place(merge, sizes, backtraces, numbers);
    free(sizes);
    definitions->backtraces = backtraces;
    definitions->n_backtraces = merge->n_nodes - NODE_STATUSES;
    definitions->frames = merge->frames;
    definitions->n_frames = merge->n_frames;
    merge->frames = NULL;
    *ret_numbers = numbers;
    return 0;
}

void stack_merge_renumber(struct log_names *names, const uint32_t *numbers)
{
    for (size_t page = 0; page < names->n_pages; page++)
        for (size_t i = 0; names->backtrace_pages[page] && i < LOG_NAMES_PAGE; i++)
            names->backtrace_pages[page][i] = numbers[names->backtrace_pages[page][i]];
}
