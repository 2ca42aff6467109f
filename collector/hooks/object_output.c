/* SPDX-License-Identifier: MIT */
/*
 * object_output: writes a walk as text, and into the log.
 */
#include "collector/events/record.h"
#include "collector/groups/object_walk.h"
#include "collector/log/segment.h"
#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/sys.h"
#include "collector/thread/state.h"

#include <errno.h>

enum {
    WALK_BITS = 24,
    NUMBER_BYTES = 24,
};

/* ---- in order of names ----------------------------------------------------------------------- */

static int compare_names(const char *left, const char *right)
{
    while (*left && *left == *right) {
        left++;
        right++;
    }
    return (unsigned char)*left - (unsigned char)*right;
}

/* A node comes before its children, siblings by name. */
static int compare(const struct object_tree *tree, uint32_t left, uint32_t right)
{
    uint32_t a = left;
    uint32_t b = right;

    while (object_tree_node(tree, a)->depth > object_tree_node(tree, b)->depth)
        a = object_tree_node(tree, a)->parent;
    while (object_tree_node(tree, b)->depth > object_tree_node(tree, a)->depth)
        b = object_tree_node(tree, b)->parent;
    if (a == b)
        return object_tree_node(tree, left)->depth - object_tree_node(tree, right)->depth;
    while (object_tree_node(tree, a)->parent != object_tree_node(tree, b)->parent) {
        a = object_tree_node(tree, a)->parent;
        b = object_tree_node(tree, b)->parent;
    }
    return compare_names(object_tree_node(tree, a)->name, object_tree_node(tree, b)->name);
}

static void sift(const struct object_tree *tree, uint32_t *order, size_t i, size_t n)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        uint32_t top = order[i];
        if (child + 1 < n && compare(tree, order[child], order[child + 1]) < 0)
            child++;
        if (compare(tree, top, order[child]) >= 0)
            return;
        order[i] = order[child];
        order[child] = top;
    }
}

/* Heapsort, because qsort may allocate. */
static void sort(const struct object_tree *tree, uint32_t *order, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(tree, order, i, n);
    for (size_t i = n; i-- > 1;) {
        uint32_t top = order[0];
        order[0] = order[i];
        order[i] = top;
        sift(tree, order, 0, i);
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static int print_node(const struct object_tree *tree, uint32_t node, int fd, char *line,
                      size_t capacity_bytes)
{
    struct fmt text = {line, capacity_bytes, 0, false};

    if (object_tree_node(tree, node)->self_bytes == 0)
        return 0;
    text.size_bytes = object_tree_path(tree, node, line, capacity_bytes - NUMBER_BYTES);
    fmt_char(&text, ' ');
    fmt_decimal(&text, object_tree_node(tree, node)->self_bytes);
    fmt_char(&text, '\n');
    return sys_write_all(fd, line, text.size_bytes);
}

int object_walk_print(const struct mtrace_walk *walk, int fd)
{
    const size_t line_bytes = (size_t)(OBJECT_TREE_DEPTH + 1) * OBJECT_TREE_NAME_BYTES;
    const struct object_tree *tree = &walk->tree;
    size_t n = tree->nodes.n;
    uint32_t *order = memory_map_inherited(n * sizeof(*order));
    char *line = memory_map_inherited(line_bytes);
    int code = order && line ? 0 : ENOMEM;

    for (size_t i = 0; code == 0 && i < n; i++)
        order[i] = (uint32_t)i;
    if (code == 0)
        sort(tree, order, n);
    for (size_t i = 1; code == 0 && i < n; i++)
        code = print_node(tree, order[i], fd, line, line_bytes);
    if (order)
        memory_unmap(order, n * sizeof(*order));
    if (line)
        memory_unmap(line, line_bytes);
    return code;
}

/* ---- into the log ---------------------------------------------------------------------------- */

static void record_node(const struct object_tree *tree, uint32_t index, uint32_t walk)
{
    const struct object_node *node = object_tree_node(tree, index);
    uint64_t n_objects = node->n_objects < UINT32_MAX ? node->n_objects : UINT32_MAX;
    uint64_t words[5] = {0, 0, (uint64_t)node->kind << 32 | (uint64_t)walk << 40,
                         node->parent | n_objects << 32, node->self_bytes};

    (void)record_labelled(LOG_OBJECT_NODE, index, words, 5, node->name, NULL);
}

static void record_claim(const struct object_claim *claim, uint32_t walk)
{
    const uint64_t words[4] = {0, 0, claim->size_bytes | (uint64_t)walk << LOG_SIZE_BITS,
                               claim->node | (uint64_t)claim->kind << 32};

    record_event(LOG_OBJECT_CLAIM, claim->address, words, 4, NULL);
}

static void record_text(enum log_event_kind kind, const char *text, uint32_t walk)
{
    uint64_t words[3] = {0, 0, (uint64_t)walk << 32};

    (void)record_labelled(kind, 0, words, 3, text, NULL);
}

/* An event without a name ends the walk. */
static void record_end(uint32_t walk, uint64_t n_warnings)
{
    const uint64_t words[3] = {0, 0, (uint64_t)walk << 32};

    record_event(LOG_OBJECT_WALK, n_warnings, words, 3, NULL);
}

int object_walk_record(const struct mtrace_walk *walk, const char *name)
{
    static _Atomic uint32_t n_walks; /* continues in fork children */
    uint32_t number = (atomic_fetch_add_explicit(&n_walks, 1, memory_order_relaxed) + 1)
                      & ((1u << WALK_BITS) - 1);
    size_t n_texts =
        walk->n_warnings < OBJECT_WALK_WARNINGS ? walk->n_warnings : OBJECT_WALK_WARNINGS;

    if (!state_is_recording())
        return ENODATA;
    record_text(LOG_OBJECT_WALK, name ? name : "", number);
    for (uint32_t i = 1; i < walk->tree.nodes.n; i++)
        record_node(&walk->tree, i, number);
    for (size_t i = 0; i < walk->claims.n; i++)
        record_claim(&((const struct object_claim *)walk->claims.items)[i], number);
    for (size_t i = 0; i < n_texts; i++)
        record_text(LOG_OBJECT_WARNING, walk->warnings[i], number);
    record_end(number, walk->n_warnings);
    return 0;
}
