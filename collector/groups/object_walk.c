/* SPDX-License-Identifier: MIT */
#include "collector/groups/object_walk.h"

#include "collector/os/fmt.h"
#include "collector/os/memory.h"
#include "collector/os/rare_lock.h"
#include "collector/os/sys.h"
#include "lib/abi/attr.h"

#include <string.h>

/* ---- roots ---- */

static struct place {
    const void *_Atomic object; /* NULL: no root. Stored last */
    const char *name;
    size_t size_bytes;
    mtrace_visit *visit;
} g_roots[OBJECT_ROOTS_MAX];

static _Atomic size_t g_n_roots; /* places ever used */
static struct rare_lock g_lock;

/* NULL object: the first free place. */
static size_t find(const void *object)
{
    size_t i = 0;

    while (i < g_n_roots && atomic_load(&g_roots[i].object) != object)
        i++;
    return i;
}

/* If the thread ends in between, as in a fork child, there is no root. */
static void put(struct place *place, const struct mtrace_root *root)
{
    atomic_store(&place->object, NULL);
    place->name = root->name;
    place->size_bytes = root->size_bytes;
    place->visit = root->visit;
    atomic_store(&place->object, root->object);
}

bool object_roots_add(const struct mtrace_root *root)
{
    struct rare_hold hold;
    size_t i;

    if (!root->object || !rare_lock_take(&g_lock, &hold))
        return false;
    i = find(root->object);
    if (i == g_n_roots)
        i = find(NULL);
    if (i < OBJECT_ROOTS_MAX)
        put(&g_roots[i], root);
    if (i == g_n_roots && i < OBJECT_ROOTS_MAX)
        g_n_roots++;
    rare_lock_give_up(&g_lock, &hold);
    return i < OBJECT_ROOTS_MAX;
}

/* OR-2 */
void object_roots_remove(const void *object)
{
    const void *expected = object;
    size_t i = object ? find(object) : g_n_roots;

    if (i < g_n_roots)
        (void)atomic_compare_exchange_strong(&g_roots[i].object, &expected, NULL);
}

size_t object_roots_count(void)
{
    return g_n_roots;
}

struct mtrace_root object_roots_at(size_t i)
{
    struct mtrace_root root = {0};
    struct rare_hold hold;

    if (!rare_lock_take(&g_lock, &hold))
        return root;
    if (i < g_n_roots)
        root = (struct mtrace_root){g_roots[i].name, atomic_load(&g_roots[i].object),
                                    g_roots[i].size_bytes, g_roots[i].visit};
    rare_lock_give_up(&g_lock, &hold);
    return root;
}

/* ---- walks ---- */

enum {
    FIRST_SLOTS = 4096,
    PAGE_SHIFT = 12,
};

struct mtrace_visitor {
    struct mtrace_walk *walk;
    size_t size_bytes;    /* of the object */
    uint64_t inner_bytes; /* of members so far */
    uint32_t node;
    bool is_unique; /* all pointers on the path are unique */
};

/* A block with its node in the tree. */
struct block {
    const char *first;
    size_t start, end, capacity, element_bytes;
    mtrace_visit *visit;
    bool (*is_used)(const void *slot);
    uint32_t node;
    bool is_unique;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static bool make_slots(struct mtrace_walk *walk, size_t n)
{
    walk->slots.items = memory_map_inherited(n * sizeof(uint32_t));
    walk->slots.n = walk->slots.capacity = walk->slots.items ? n : 0;
    return walk->slots.items != NULL;
}

struct mtrace_walk *object_walk_new(bool is_unique_only)
{
    struct mtrace_walk *walk = memory_map_inherited(sizeof(*walk));

    if (!walk)
        return NULL;
    walk->is_unique_only = is_unique_only;
    if (object_tree_init(&walk->tree) && make_slots(walk, FIRST_SLOTS))
        return walk;
    object_walk_free(walk);
    return NULL;
}

void object_walk_free(struct mtrace_walk *walk)
{
    object_tree_done(&walk->tree);
    object_array_done(&walk->claims, sizeof(struct object_claim));
    object_array_done(&walk->slots, sizeof(uint32_t));
    object_array_done(&walk->later, sizeof(struct block));
    memory_unmap(walk, sizeof(*walk));
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* "path[;key]: text[ 0x…]" */
static void warn(struct mtrace_walk *walk, uint32_t node, const char *key, const char *text,
                 uintptr_t address)
{
    struct fmt line = {walk->scratch, sizeof(walk->scratch), 0, false};

    if (walk->n_warnings++ >= OBJECT_WALK_WARNINGS)
        return;
    line.size_bytes = object_tree_path(&walk->tree, node, line.text, sizeof(walk->scratch) / 2);
    if (key) {
        fmt_char(&line, ';');
        fmt_string(&line, key);
    }
    fmt_string(&line, ": ");
    fmt_string(&line, text ? text : "");
    if (address) {
        fmt_string(&line, " 0x");
        fmt_hex(&line, address);
    }
    /* Names in folded text have no ';', so it separates them here. */
    walk->warnings[walk->n_warnings - 1] = object_tree_line(&walk->tree, walk->scratch);
    if (!walk->warnings[walk->n_warnings - 1])
        walk->warnings[walk->n_warnings - 1] = "no memory for this warning";
}

/* ---- claims ---------------------------------------------------------------------------------- */

static size_t slot_of(const struct mtrace_walk *walk, uintptr_t address)
{
    uint64_t hash = (uint64_t)address * 0x9e3779b97f4a7c15u;

    return (size_t)(hash >> 20) & (walk->slots.n - 1);
}

static struct object_claim *claim_at(const struct mtrace_walk *walk, uint32_t number)
{
    return &((struct object_claim *)walk->claims.items)[number - 1];
}

/* The slot of the address: its claim, or free. */
static uint32_t *find_slot(const struct mtrace_walk *walk, uintptr_t address)
{
    uint32_t *slots = walk->slots.items;
    size_t i = slot_of(walk, address);

    while (slots[i] != 0 && claim_at(walk, slots[i])->address != address)
        i = (i + 1) & (walk->slots.n - 1);
    return &slots[i];
}

static bool grow_slots(struct mtrace_walk *walk)
{
    struct object_array old = walk->slots;
    const uint32_t *numbers = old.items;

    if (!make_slots(walk, old.n * 2)) {
        walk->slots = old;
        return false;
    }
    for (size_t i = 0; i < old.n; i++)
        if (numbers[i] != 0)
            *find_slot(walk, claim_at(walk, numbers[i])->address) = numbers[i];
    object_array_done(&old, sizeof(uint32_t));
    return true;
}

/* False: do not visit. */
static bool claim(struct mtrace_walk *walk, const struct object_claim *wanted)
{
    struct object_claim *out;
    uint32_t *slot;
    bool is_first;

    if (walk->claims.n >= walk->slots.n / 2 && !grow_slots(walk)) {
        warn(walk, wanted->node, NULL, "omitted: no memory", 0);
        return false;
    }
    slot = find_slot(walk, wanted->address);
    is_first = *slot == 0;
    if (!is_first && wanted->kind == OBJECT_CLAIM_SHARED
        && claim_at(walk, *slot)->kind == OBJECT_CLAIM_SHARED)
        return false;
    out = object_array_next(&walk->claims, sizeof(*out));
    if (!out) {
        warn(walk, wanted->node, NULL, "omitted: no memory", 0);
        return false;
    }
    *out = *wanted;
    walk->claims.n++;
    if (is_first)
        *slot = (uint32_t)walk->claims.n;
    else
        warn(walk, wanted->node, NULL, "visited already, there is another owner of",
             wanted->address);
    return is_first;
}

static bool is_page_readable(struct mtrace_walk *walk, uintptr_t address)
{
    if (address >> PAGE_SHIFT == walk->readable_page && walk->readable_page != 0)
        return true;
    if (!sys_is_forbidden() && !sys_is_readable(address & ~(uintptr_t)7))
        return false;
    walk->readable_page = address >> PAGE_SHIFT;
    return true;
}

static bool is_readable(struct mtrace_walk *walk, const void *first, size_t size_bytes)
{
    uintptr_t start = (uintptr_t)first;

    return start + size_bytes > start && is_page_readable(walk, start)
           && is_page_readable(walk, start + size_bytes - 1);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Adds the bytes to the child. If the tree is full, they stay with the parent. */
static uint32_t add_bytes(struct mtrace_walk *walk, uint32_t parent, const char *name,
                          enum log_object_kind kind, uint64_t bytes)
{
    uint32_t child = object_tree_child(&walk->tree, parent, name, kind);

    if (child == OBJECT_TREE_NONE) {
        warn(walk, parent, name, "omitted: too deep, or no memory", 0);
        return child;
    }
    object_tree_node(&walk->tree, child)->self_bytes += bytes;
    return child;
}

static void visit_object(struct mtrace_walk *walk, uint32_t node, const void *object,
                         size_t size_bytes, mtrace_visit *visit, bool is_unique)
{
    struct mtrace_visitor visitor = {walk, size_bytes, 0, node, is_unique};

    object_tree_node(&walk->tree, node)->n_objects++;
    if (visit)
        visit(&visitor, object);
    if (visitor.inner_bytes > size_bytes)
        warn(walk, node, NULL, "its members take more than it has", 0);
    else if (visitor.inner_bytes == 0)
        object_tree_node(&walk->tree, node)->self_bytes += size_bytes;
    else if (visitor.inner_bytes < size_bytes)
        (void)add_bytes(walk, node, "padding", LOG_OBJECT_PADDING,
                        size_bytes - visitor.inner_bytes);
}

static void visit_block(struct mtrace_walk *walk, const struct block *block)
{
    size_t n_used = 0;

    for (size_t i = block->start; i < block->end; i++) {
        const char *element = block->first + i * block->element_bytes;
        if (block->is_used && !block->is_used(element))
            continue;
        n_used++;
        if (block->visit)
            visit_object(walk, block->node, element, block->element_bytes, block->visit,
                         block->is_unique);
    }
    if (!block->visit) {
        object_tree_node(&walk->tree, block->node)->n_objects += n_used;
        object_tree_node(&walk->tree, block->node)->self_bytes += n_used * block->element_bytes;
    }
    if (n_used < block->capacity)
        (void)add_bytes(walk, block->node, "unused_capacity", LOG_OBJECT_UNUSED,
                        (block->capacity - n_used) * block->element_bytes);
}

static bool is_deep(const struct mtrace_walk *walk)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    uintptr_t distance =
        frame < walk->first_frame ? walk->first_frame - frame : frame - walk->first_frame;

    return distance > OBJECT_WALK_STACK_BYTES;
}

static void visit_now_or_later(struct mtrace_walk *walk, const struct block *block)
{
    struct block *out;

    if (!is_deep(walk)) {
        visit_block(walk, block);
        return;
    }
    out = object_array_next(&walk->later, sizeof(*out));
    if (!out) {
        warn(walk, block->node, NULL, "omitted: no memory", 0);
        return;
    }
    *out = *block;
    walk->later.n++;
}

/* A visit may add more blocks. */
static void visit_later_ones(struct mtrace_walk *walk)
{
    while (walk->later.n > 0) {
        struct block block = ((struct block *)walk->later.items)[--walk->later.n];
        visit_block(walk, &block);
    }
}

/* ---- members --------------------------------------------------------------------------------- */

static uint32_t target_node(struct mtrace_walk *walk, uint32_t pointer,
                            const struct mtrace_member *member)
{
    const char *type = member->type ? member->type : "block";
    uint32_t node = member->kind == MTRACE_MEMBER_SHARED
                        ? object_tree_child(&walk->tree, 0, type, LOG_OBJECT_BLOCK)
                        : object_tree_target(&walk->tree, pointer, type);

    if (node == OBJECT_TREE_NONE)
        warn(walk, pointer, type, "omitted: too deep, or no memory", 0);
    return node;
}

static void follow(struct mtrace_walk *walk, uint32_t pointer, const struct mtrace_member *member,
                   bool is_unique)
{
    bool is_shared = member->kind == MTRACE_MEMBER_SHARED;
    size_t start = member->start < member->capacity ? member->start : member->capacity;
    size_t room = member->capacity - start;
    size_t end = start + (member->count < room ? member->count : room);
    uint32_t node;
    size_t bytes;

    if (!member->first || (is_shared && walk->is_unique_only))
        return;
    if (member->count > room)
        warn(walk, pointer, NULL, "more elements than it has room for", 0);
    if (__builtin_mul_overflow(member->capacity, member->element_bytes, &bytes)
        || (uint64_t)bytes >> LOG_SIZE_BITS != 0) {
        warn(walk, pointer, NULL, "its size is impossible", 0);
        return;
    }
    if (bytes == 0)
        return;
    if (!is_readable(walk, member->first, bytes)) {
        warn(walk, pointer, NULL, "nothing can be read at", (uintptr_t)member->first);
        return;
    }
    node = target_node(walk, pointer, member);
    if (node == OBJECT_TREE_NONE
        || !claim(walk,
                  &(struct object_claim){(uintptr_t)member->first, bytes, node,
                                         is_shared ? OBJECT_CLAIM_SHARED : OBJECT_CLAIM_UNIQUE}))
        return;
    if (is_unique && !is_shared)
        walk->unique_bytes += bytes;
    visit_now_or_later(walk, &(struct block){member->first, start, end, member->capacity,
                                             member->element_bytes, member->visit, member->is_used,
                                             node, is_unique && !is_shared});
}

static bool is_possible(const struct mtrace_visitor *visitor, const struct mtrace_member *member)
{
    if ((uint64_t)member->size_bytes >> LOG_SIZE_BITS == 0)
        return true;
    warn(visitor->walk, visitor->node, member->key, "its size is impossible", 0);
    return false;
}

static void visit_pointer(struct mtrace_visitor *visitor, const struct mtrace_member *member)
{
    struct mtrace_walk *walk = visitor->walk;
    uint32_t child;

    if (!is_possible(visitor, member))
        return;
    child = add_bytes(walk, visitor->node, member->key, LOG_OBJECT_POINTER, member->size_bytes);

    if (child == OBJECT_TREE_NONE)
        return;
    visitor->inner_bytes += member->size_bytes;
    object_tree_node(&walk->tree, child)->n_objects++;
    follow(walk, child, member, visitor->is_unique);
}

/* OW-4: with a wrong visitor, three members could lead to nine visits, and so on. */
static bool has_room(const struct mtrace_visitor *visitor, size_t bytes)
{
    return visitor->inner_bytes <= visitor->size_bytes
           && bytes <= visitor->size_bytes - visitor->inner_bytes;
}

static void visit_inline(struct mtrace_visitor *visitor, const struct mtrace_member *member,
                         size_t count, size_t element_bytes)
{
    struct mtrace_walk *walk = visitor->walk;
    uint32_t child = add_bytes(walk, visitor->node, member->key, LOG_OBJECT_FIELD, 0);
    mtrace_visit *visit = member->visit;
    size_t bytes;

    if (child == OBJECT_TREE_NONE)
        return;
    if (__builtin_mul_overflow(count, element_bytes, &bytes)
        || (uint64_t)bytes >> LOG_SIZE_BITS != 0) {
        warn(walk, child, NULL, "its size is impossible", 0);
        return;
    }
    if (member->visit && !has_room(visitor, bytes)) {
        warn(walk, child, NULL, "not visited: larger than what it is a part of", 0);
        visit = NULL;
    }
    visitor->inner_bytes += bytes;
    if (!visit || bytes == 0) {
        object_tree_node(&walk->tree, child)->n_objects += count;
        object_tree_node(&walk->tree, child)->self_bytes += bytes;
        return;
    }
    for (size_t i = 0; i < count; i++)
        visit_object(walk, child, (const char *)member->first + i * element_bytes, element_bytes,
                     visit, visitor->is_unique);
}

static void visit_opaque(struct mtrace_visitor *visitor, const struct mtrace_member *member)
{
    if (!is_possible(visitor, member))
        return;
    if (add_bytes(visitor->walk, visitor->node, member->key, LOG_OBJECT_OPAQUE, member->size_bytes)
        != OBJECT_TREE_NONE)
        visitor->inner_bytes += member->size_bytes;
    warn(visitor->walk, visitor->node, member->key, member->why, 0);
}

void object_walk_visit(struct mtrace_visitor *visitor, const struct mtrace_member *member)
{
    switch (member->kind) {
    case MTRACE_MEMBER_FIELD:
        visit_inline(visitor, member, 1, member->size_bytes);
        break;
    case MTRACE_MEMBER_ARRAY:
        visit_inline(visitor, member, member->count, member->element_bytes);
        break;
    case MTRACE_MEMBER_UNIQUE:
    case MTRACE_MEMBER_SHARED:
    case MTRACE_MEMBER_VECTOR:
    case MTRACE_MEMBER_TABLE:
        visit_pointer(visitor, member);
        break;
    case MTRACE_MEMBER_OPAQUE:
        visit_opaque(visitor, member);
        break;
    default:
        warn(visitor->walk, visitor->node, member->key, "a member of an unknown kind", 0);
    }
}

void object_walk_object(struct mtrace_walk *walk, const struct mtrace_root *object)
{
    uint32_t node;

    walk->first_frame = (uintptr_t)__builtin_frame_address(0);
    walk->readable_page = 0; /* the program may have unmapped it since */
    node = object_tree_child(&walk->tree, 0, object->name, LOG_OBJECT_BLOCK);
    if (node == OBJECT_TREE_NONE) {
        warn(walk, 0, object->name, "omitted: no memory", 0);
        return;
    }
    if ((uint64_t)object->size_bytes >> LOG_SIZE_BITS != 0
        || !is_readable(walk, object->object, object->size_bytes)) {
        warn(walk, node, NULL, "nothing can be read at", (uintptr_t)object->object);
        return;
    }
    if (!claim(walk, &(struct object_claim){(uintptr_t)object->object, object->size_bytes, node,
                                            OBJECT_CLAIM_ROOT}))
        return;
    visit_object(walk, node, object->object, object->size_bytes, object->visit, true);
    visit_later_ones(walk);
}

uint64_t object_walk_total_bytes(const struct mtrace_walk *walk)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < walk->tree.nodes.n; i++)
        bytes += object_tree_node(&walk->tree, i)->self_bytes;
    return bytes;
}
