/* SPDX-License-Identifier: MIT */
#include "collector/groups/object_tree.h"

#include "collector/os/fmt.h"
#include "collector/os/memory.h"

#include <string.h>

enum {
    FIRST_BYTES = 16384,
    CHUNK_BYTES = 65536,
    N_BUCKETS = 4096,
};

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool grow(struct object_array *array, size_t item_bytes)
{
    size_t capacity = array->capacity ? array->capacity * 2 : FIRST_BYTES / item_bytes;
    void *items = memory_map_inherited(capacity * item_bytes);

    if (!items)
        return false;
    if (array->items) {
        memcpy(items, array->items, array->n * item_bytes);
        memory_unmap(array->items, array->capacity * item_bytes);
    }
    array->items = items;
    array->capacity = capacity;
    return true;
}

void *object_array_next(struct object_array *array, size_t item_bytes)
{
    if (array->n == array->capacity && !grow(array, item_bytes))
        return NULL;
    return (char *)array->items + array->n * item_bytes;
}

void object_array_done(struct object_array *array, size_t item_bytes)
{
    if (array->items)
        memory_unmap(array->items, array->capacity * item_bytes);
    *array = (struct object_array){0};
}

/* ---- names ----------------------------------------------------------------------------------- */

static char *new_chunk(struct object_tree *tree)
{
    char **chunk = object_array_next(&tree->chunks, sizeof(char *));

    if (!chunk || !(*chunk = memory_map_inherited(CHUNK_BYTES)))
        return NULL;
    tree->chunks.n++;
    tree->chunk_used = 0;
    return *chunk;
}

const char *object_tree_line(struct object_tree *tree, const char *text)
{
    size_t size_bytes = text ? fmt_length(text) : 0;
    char *out = NULL;

    if (size_bytes > CHUNK_BYTES / 2)
        size_bytes = CHUNK_BYTES / 2;
    if (tree->chunks.n > 0 && tree->chunk_used + size_bytes < CHUNK_BYTES)
        out = ((char **)tree->chunks.items)[tree->chunks.n - 1];
    else
        out = new_chunk(tree);
    if (!out)
        return NULL;
    out += tree->chunk_used;
    if (size_bytes > 0)
        memcpy(out, text, size_bytes);
    out[size_bytes] = '\0';
    tree->chunk_used += size_bytes + 1;
    return out;
}

/* A stored name: truncated, and without characters that break folded text. */
struct name {
    char text[OBJECT_TREE_NAME_BYTES];
    uint32_t hash;
};

static void make_name(struct name *name, const char *text)
{
    size_t n = 0;

    name->hash = 2166136261u;
    for (; text && text[n] && n < sizeof(name->text) - 1; n++) {
        char c = text[n] == ';' ? ':' : text[n] == '\n' || text[n] == '\r' ? ' ' : text[n];
        name->text[n] = c;
        name->hash = (name->hash ^ (unsigned char)c) * 16777619u;
    }
    name->text[n] = '\0';
}

/* ---- nodes ----------------------------------------------------------------------------------- */

bool object_tree_init(struct object_tree *tree)
{
    struct object_node *root;

    *tree = (struct object_tree){0};
    tree->hashes.items = memory_map_inherited(N_BUCKETS * sizeof(uint32_t));
    if (!tree->hashes.items)
        return false;
    tree->hashes.n = tree->hashes.capacity = N_BUCKETS;
    root = object_array_next(&tree->nodes, sizeof(*root));
    if (!root)
        return false;
    *root = (struct object_node){.name = "", .kind = LOG_OBJECT_ROOT};
    tree->nodes.n++;
    return true;
}

void object_tree_done(struct object_tree *tree)
{
    for (size_t i = 0; i < tree->chunks.n; i++)
        memory_unmap(((char **)tree->chunks.items)[i], CHUNK_BYTES);
    object_array_done(&tree->chunks, sizeof(char *));
    object_array_done(&tree->nodes, sizeof(struct object_node));
    object_array_done(&tree->hashes, sizeof(uint32_t));
}

static uint32_t *bucket_of(const struct object_tree *tree, uint32_t parent, uint32_t hash)
{
    uint32_t mixed = (hash ^ parent * 2654435761u) * 2654435761u;

    return &((uint32_t *)tree->hashes.items)[(mixed >> 16) % N_BUCKETS];
}

static uint32_t add_child(struct object_tree *tree, uint32_t parent, const struct name *name,
                          uint32_t *bucket, enum log_object_kind kind)
{
    const char *text;
    struct object_node *node;

    if (object_tree_node(tree, parent)->depth >= OBJECT_TREE_DEPTH)
        return OBJECT_TREE_NONE;
    text = object_tree_line(tree, name->text);
    node = text ? object_array_next(&tree->nodes, sizeof(*node)) : NULL;
    if (!node || tree->nodes.n >= OBJECT_TREE_NONE - 1)
        return OBJECT_TREE_NONE;
    *node = (struct object_node){.name = text,
                                 .parent = parent,
                                 .next_in_bucket = *bucket,
                                 .depth = (uint16_t)(object_tree_node(tree, parent)->depth + 1),
                                 .kind = (uint8_t)kind};
    *bucket = (uint32_t)++tree->nodes.n;
    return *bucket - 1;
}

uint32_t object_tree_child(struct object_tree *tree, uint32_t parent, const char *text,
                           enum log_object_kind kind)
{
    struct name name;
    uint32_t *bucket;

    make_name(&name, text);
    bucket = bucket_of(tree, parent, name.hash);
    for (uint32_t i = *bucket; i != 0; i = object_tree_node(tree, i - 1)->next_in_bucket) {
        const struct object_node *node = object_tree_node(tree, i - 1);
        if (node->parent == parent && fmt_is_equal(node->name, name.text))
            return i - 1;
    }
    return add_child(tree, parent, &name, bucket, kind);
}

uint32_t object_tree_target(struct object_tree *tree, uint32_t pointer, const char *text)
{
    const char *key = object_tree_node(tree, pointer)->name;
    struct name name;

    make_name(&name, text);
    for (uint32_t i = object_tree_node(tree, pointer)->parent; i != 0;
         i = object_tree_node(tree, i)->parent) {
        const struct object_node *node = object_tree_node(tree, i);
        if (node->kind == LOG_OBJECT_BLOCK && fmt_is_equal(node->name, name.text)
            && fmt_is_equal(object_tree_node(tree, node->parent)->name, key))
            return i;
    }
    return object_tree_child(tree, pointer, text, LOG_OBJECT_BLOCK);
}

size_t object_tree_path(const struct object_tree *tree, uint32_t node, char *out,
                        size_t capacity_bytes)
{
    struct fmt path = {out, capacity_bytes, 0, false};
    uint32_t ancestors[OBJECT_TREE_DEPTH + 1];
    unsigned n = 0;

    for (uint32_t i = node; i != 0; i = object_tree_node(tree, i)->parent)
        ancestors[n++] = i;
    out[0] = '\0';
    while (n-- > 0) {
        fmt_string(&path, object_tree_node(tree, ancestors[n])->name);
        if (n > 0)
            fmt_char(&path, ';');
    }
    return path.size_bytes;
}
