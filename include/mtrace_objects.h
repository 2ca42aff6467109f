/* SPDX-License-Identifier: MIT */
/*
 * mtrace_objects.h: a program shows which of its objects own its memory; an addition to mtrace.h.
 *
 * Terms
 *   visitor  a function for a type: it names the members of an object, and the blocks that they own
 *   walk     calls the visitors of roots, and makes a tree of names, declared sizes and claimed
 *   blocks node     all objects of one path in the tree
 *   padding  the rest of an object whose members were named: holes, and unnamed members
 *
 * mtrace-query compares a recorded walk with the real blocks: requested and usable sizes, unclaimed
 * blocks, and blocks claimed twice. A member is part of its parent; a block behind a pointer is
 * not.
 *
 * Cycles: a walk visits a block once, even if several pointers lead to it. Types that contain
 * themselves fold into one node when they recur under the same key, so lists do not become deep
 * trees.
 *
 * Threads: a walk belongs to one thread at a time, and reads the objects. Prevent other threads
 * from changing them, or skip a member by mtrace_visit_opaque. Not for signal handlers.
 *
 * Failure: nothing aborts. Unreadable pointers, impossible sizes and second owners are not
 * followed, and cause a warning. If memory is short, objects are skipped and counted.
 */
#ifndef MTRACE_OBJECTS_H
#define MTRACE_OBJECTS_H

#include "mtrace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mtrace_visitor; /* an object being visited; valid during the call */
struct mtrace_walk;

typedef void mtrace_visit(struct mtrace_visitor *visitor, const void *object);

enum mtrace_member_kind {
    MTRACE_MEMBER_FIELD = 1,
    MTRACE_MEMBER_UNIQUE = 2,
    MTRACE_MEMBER_SHARED = 3,
    MTRACE_MEMBER_ARRAY = 4,
    MTRACE_MEMBER_VECTOR = 5,
    MTRACE_MEMBER_TABLE = 6,
    MTRACE_MEMBER_OPAQUE = 7
};

/* Argument of struct mtrace_objects_api.visit; members that a kind does not use are zero. */
struct mtrace_member {
    enum mtrace_member_kind kind;
    const char *key, *type; /* copied */
    size_t size_bytes;      /* of the member in its parent */
    const void *first;
    size_t count, capacity, element_bytes;
    mtrace_visit *visit; /* NULL: nothing below it */
    bool (*is_used)(const void *slot);
    const char *why;
    size_t start; /* elements before the first used one */
};

/* Never changes: mtrace.h, Versions. */
struct mtrace_root {
    const char *name;
    const void *object;
    size_t size_bytes;
    mtrace_visit *visit;
};

/* A part of the table of libmtrace.so. The program passes the sizes of the structures that it
 * fills. */
struct mtrace_objects_api {
    uint32_t size_bytes;
    bool (*roots_add)(const struct mtrace_root *roots, size_t n_roots, size_t root_bytes);
    void (*roots_remove)(const void *object);
    struct mtrace_walk *(*walk_new)(void);
    void (*walk_free)(struct mtrace_walk *walk);
    void (*walk_roots)(struct mtrace_walk *walk);
    void (*walk_object)(struct mtrace_walk *walk, const struct mtrace_root *object,
                        size_t root_bytes);
    void (*visit)(struct mtrace_visitor *visitor, const struct mtrace_member *member,
                  size_t member_bytes);
    uint64_t (*walk_total_bytes)(const struct mtrace_walk *walk);
    size_t (*walk_warnings)(const struct mtrace_walk *walk, const char *const **ret_texts);
    int (*walk_print)(const struct mtrace_walk *walk, int fd);
    int (*walk_record)(const struct mtrace_walk *walk, const char *name);
    uint64_t (*size_of_unique)(const struct mtrace_root *object, size_t root_bytes);
};

#ifndef MTRACE_TYPES_ONLY

static inline const struct mtrace_objects_api *mtrace_objects_(void)
{
    const struct mtrace_api *api = mtrace_found_;
    if (__builtin_expect(api == NULL, 1))
        return NULL;
    return api->objects->size_bytes >= sizeof(struct mtrace_objects_api) ? api->objects : NULL;
}

/* ---- calls for visitors ---- */

/* Arguments are in the order of struct mtrace_member, which is filled only if there is a collector.
 */
static inline void mtrace_visit_member_(struct mtrace_visitor *visitor,
                                        enum mtrace_member_kind kind, const char *key,
                                        const char *type, size_t size_bytes, const void *first,
                                        size_t count, size_t capacity, size_t element_bytes,
                                        mtrace_visit *visit, bool (*is_used)(const void *slot),
                                        const char *why, size_t start)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    struct mtrace_member member = {kind,     key,           type,  size_bytes, first, count,
                                   capacity, element_bytes, visit, is_used,    why,   start};
    if (api)
        api->visit(visitor, &member, sizeof(member));
}

/* A member by value. visit NULL: a leaf. */
static inline void mtrace_visit_field(struct mtrace_visitor *visitor, const char *key,
                                      const void *field, size_t size_bytes, mtrace_visit *visit)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_FIELD, key, NULL, size_bytes, field, 1, 1,
                         size_bytes, visit, NULL, NULL, 0);
}

/* A pointer (pointer_bytes of the object) that owns an object of size_bytes in its own block. NULL
 * targets own nothing. */
static inline void mtrace_visit_unique(struct mtrace_visitor *visitor, const char *key,
                                       size_t pointer_bytes, const char *type, const void *target,
                                       size_t size_bytes, mtrace_visit *visit)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_UNIQUE, key, type, pointer_bytes, target, 1, 1,
                         size_bytes, visit, NULL, NULL, 0);
}

/* The same for a target with several owners: it is visited once, and is a root under its type. */
static inline void mtrace_visit_shared(struct mtrace_visitor *visitor, const char *key,
                                       size_t pointer_bytes, const char *type, const void *target,
                                       size_t size_bytes, mtrace_visit *visit)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_SHARED, key, type, pointer_bytes, target, 1, 1,
                         size_bytes, visit, NULL, NULL, 0);
}

/* Elements by value. */
static inline void mtrace_visit_array(struct mtrace_visitor *visitor, const char *key,
                                      const void *first, size_t count, size_t element_bytes,
                                      mtrace_visit *visit)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_ARRAY, key, NULL, 0, first, count, count,
                         element_bytes, visit, NULL, NULL, 0);
}

/* A pointer that owns a block of `capacity` elements, of which `count` from number `start` on
 * are used; the others are `unused_capacity`. header_bytes: size of pointer, count and capacity
 * in the object. */
static inline void mtrace_visit_window(struct mtrace_visitor *visitor, const char *key,
                                       size_t header_bytes, const char *type, const void *first,
                                       size_t start, size_t count, size_t capacity,
                                       size_t element_bytes, mtrace_visit *visit)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_VECTOR, key, type, header_bytes, first, count,
                         capacity, element_bytes, visit, NULL, NULL, start);
}

/* The same if the first elements are used. */
static inline void mtrace_visit_vector(struct mtrace_visitor *visitor, const char *key,
                                       size_t header_bytes, const char *type, const void *first,
                                       size_t count, size_t capacity, size_t element_bytes,
                                       mtrace_visit *visit)
{
    mtrace_visit_window(visitor, key, header_bytes, type, first, 0, count, capacity, element_bytes,
                        visit);
}

/* The same if any slots may be used, as in a hash map. */
static inline void mtrace_visit_table(struct mtrace_visitor *visitor, const char *key,
                                      size_t header_bytes, const char *type, const void *slots,
                                      size_t n_slots, size_t slot_bytes,
                                      bool (*is_used)(const void *slot), mtrace_visit *visit)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_TABLE, key, type, header_bytes, slots, n_slots,
                         n_slots, slot_bytes, visit, is_used, NULL, 0);
}

/* A member that is skipped, and why: its lock is busy, its type is unknown. Causes a warning. */
static inline void mtrace_visit_opaque(struct mtrace_visitor *visitor, const char *key,
                                       size_t size_bytes, const char *why)
{
    mtrace_visit_member_(visitor, MTRACE_MEMBER_OPAQUE, key, NULL, size_bytes, NULL, 0, 0, 0, NULL,
                         NULL, why, 0);
}

/* ---- roots ---- */

/* Registers an object as a root of mtrace_walk_roots, until it is unregistered. A second
 * registration replaces the first. false: absent, or too many (4096). */
static inline bool mtrace_root_register(const char *name, const void *object, size_t size_bytes,
                                        mtrace_visit *visit)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    struct mtrace_root root = {name, object, size_bytes, visit};
    return api ? api->roots_add(&root, 1, sizeof(root)) : false;
}

static inline void mtrace_root_unregister(const void *object)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    if (api)
        api->roots_remove(object);
}

/* Registers a variable when the program or library is loaded, until it is unloaded, by an entry in
 * its own section, without any code. For file scope. */
#    define MTRACE_ROOT(variable, visit)                                                \
        static const struct mtrace_root MTRACE_UNIQUE_(mtrace_root_, __LINE__)          \
            __attribute__((section("mtrace_roots"), used, aligned(sizeof(void *)))) = { \
                #variable, &(variable), sizeof(variable), (visit)}

extern const struct mtrace_root __start_mtrace_roots[] __attribute__((weak, visibility("hidden")));
extern const struct mtrace_root __stop_mtrace_roots[] __attribute__((weak, visibility("hidden")));

__attribute__((weak, visibility("hidden"), constructor(102))) void mtrace_add_roots_(void);
__attribute__((weak, visibility("hidden"), destructor(102))) void mtrace_remove_roots_(void);

__attribute__((weak, visibility("hidden"), constructor(102))) void mtrace_add_roots_(void)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    size_t n = (size_t)(__stop_mtrace_roots - __start_mtrace_roots);
    if (api && n > 0)
        (void)api->roots_add(__start_mtrace_roots, n, sizeof(*__start_mtrace_roots));
}

__attribute__((weak, visibility("hidden"), destructor(102))) void mtrace_remove_roots_(void)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    const struct mtrace_root *root;
    for (root = __start_mtrace_roots; api && root < __stop_mtrace_roots; root++)
        api->roots_remove(root->object);
}

/* ---- walks ---- */

/* NULL: absent, or no memory; the calls below then do nothing. */
static inline struct mtrace_walk *mtrace_walk_new(void)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    return api ? api->walk_new() : NULL;
}

static inline void mtrace_walk_free(struct mtrace_walk *walk)
{
    if (walk)
        mtrace_objects_()->walk_free(walk);
}

/* Walks all registered roots. */
static inline void mtrace_walk_roots(struct mtrace_walk *walk)
{
    if (walk)
        mtrace_objects_()->walk_roots(walk);
}

/* Walks one object as a root with this name. It may be a block itself. */
static inline void mtrace_walk_object(struct mtrace_walk *walk, const char *name,
                                      const void *object, size_t size_bytes, mtrace_visit *visit)
{
    struct mtrace_root root = {name, object, size_bytes, visit};
    if (walk)
        mtrace_objects_()->walk_object(walk, &root, sizeof(root));
}

/* Sum of declared sizes over all nodes. */
static inline uint64_t mtrace_walk_total_bytes(const struct mtrace_walk *walk)
{
    return walk ? mtrace_objects_()->walk_total_bytes(walk) : 0;
}

/* Returns the number of warnings; *ret_texts has the first 64 of them, valid as long as the walk.
 */
static inline size_t mtrace_walk_warnings(const struct mtrace_walk *walk,
                                          const char *const **ret_texts)
{
    return walk ? mtrace_objects_()->walk_warnings(walk, ret_texts) : 0;
}

/* Writes folded text: a line for each node, "a;b;c BYTES", in order of names, for tools that draw
 * flame graphs. Sizes are the declared ones. Returns 0 or an errno value. */
static inline int mtrace_walk_print(const struct mtrace_walk *walk, int fd)
{
    return walk ? mtrace_objects_()->walk_print(walk, fd) : 0;
}

/* Writes the walk into the recording, for mtrace-query objects. Blocks are looked up as of now:
 * call it before the program continues. Returns 0 or an errno value. */
static inline int mtrace_walk_record(const struct mtrace_walk *walk, const char *name)
{
    return walk ? mtrace_objects_()->walk_record(walk, name) : 0;
}

/* Declared size of the object with all memory that it alone owns, by unique pointers all the way.
 * absent: size_bytes */
static inline uint64_t mtrace_size_of_unique(const void *object, size_t size_bytes,
                                             mtrace_visit *visit)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    struct mtrace_root root = {"", object, size_bytes, visit};
    return api ? size_bytes + api->size_of_unique(&root, sizeof(root)) : size_bytes;
}

/* The same without the object itself. absent: 0 */
static inline uint64_t mtrace_size_of_unique_allocated_data(const void *object, size_t size_bytes,
                                                            mtrace_visit *visit)
{
    const struct mtrace_objects_api *api = mtrace_objects_();
    struct mtrace_root root = {"", object, size_bytes, visit};
    return api ? api->size_of_unique(&root, sizeof(root)) : 0;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
