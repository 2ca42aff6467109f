/* SPDX-License-Identifier: MIT */
#include "collector/hooks/api_objects.h"

#include "collector/groups/object_roots.h"
#include "collector/groups/object_walk.h"
#include "collector/process/lifecycle.h"
#include "collector/thread/state.h"

#include <string.h>

/* True also before a log is written: recording may be switched on later. */
static bool is_present(void)
{
    return lifecycle_is_ready() && (state_is_recording() || !state_is_off());
}

/* Copies a structure as the program knows it. Members of later versions are zero. */
static void read_known(void *ret, size_t ret_bytes, const void *known, size_t known_bytes)
{
    const size_t both_bytes = known_bytes < ret_bytes ? known_bytes : ret_bytes;

    memset(ret, 0, ret_bytes);
    memcpy(ret, known, both_bytes);
}

static struct mtrace_root root_of(const void *known, size_t known_bytes)
{
    struct mtrace_root root;

    read_known(&root, sizeof(root), known, known_bytes);
    return root;
}

static bool roots_add(const struct mtrace_root *roots, size_t n_roots, size_t root_bytes)
{
    const unsigned char *known = (const unsigned char *)roots;
    bool all = true;

    for (size_t i = 0; i < n_roots; i++, known += root_bytes) {
        struct mtrace_root root = root_of(known, root_bytes);
        all &= object_roots_add(&root);
    }
    return all;
}

static struct mtrace_walk *walk_new(void)
{
    return is_present() ? object_walk_new(false) : NULL;
}

static void walk_roots(struct mtrace_walk *walk)
{
    const size_t n = object_roots_count();

    for (size_t i = 0; i < n; i++) {
        struct mtrace_root root = object_roots_at(i);
        if (root.object)
            object_walk_object(walk, &root);
    }
}

static void walk_object(struct mtrace_walk *walk, const struct mtrace_root *object,
                        size_t root_bytes)
{
    const struct mtrace_root root = root_of(object, root_bytes);

    object_walk_object(walk, &root);
}

static void visit(struct mtrace_visitor *visitor, const struct mtrace_member *known,
                  size_t member_bytes)
{
    struct mtrace_member member;

    read_known(&member, sizeof(member), known, member_bytes);
    object_walk_visit(visitor, &member);
}

static size_t walk_warnings(const struct mtrace_walk *walk, const char *const **ret_texts)
{
    if (ret_texts)
        *ret_texts = walk->warnings;
    return walk->n_warnings;
}

static int walk_record(const struct mtrace_walk *walk, const char *name)
{
    (void)lifecycle_is_ready(); /* a fork child detects here that it is one */
    return object_walk_record(walk, name);
}

static uint64_t size_of_unique(const struct mtrace_root *object, size_t root_bytes)
{
    struct mtrace_walk *walk = is_present() ? object_walk_new(true) : NULL;
    uint64_t bytes;

    if (!walk)
        return 0;
    walk_object(walk, object, root_bytes);
    bytes = walk->unique_bytes;
    object_walk_free(walk);
    return bytes;
}

const struct mtrace_objects_api api_objects = {
    .size_bytes = sizeof(api_objects),
    .roots_add = roots_add,
    .roots_remove = object_roots_remove,
    .walk_new = walk_new,
    .walk_free = object_walk_free,
    .walk_roots = walk_roots,
    .walk_object = walk_object,
    .visit = visit,
    .walk_total_bytes = object_walk_total_bytes,
    .walk_warnings = walk_warnings,
    .walk_print = object_walk_print,
    .walk_record = walk_record,
    .size_of_unique = size_of_unique,
};
