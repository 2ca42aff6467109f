/* SPDX-License-Identifier: MIT */
#include "collector/interpose/api_objects.h"

#include "collector/life/lifecycle.h"
#include "collector/record/object_roots.h"
#include "collector/record/object_walk.h"
#include "collector/record/state.h"

/* Also where a log is not written yet: recording may be switched on later. */
static bool is_present(void)
{
    return lifecycle_is_ready() && (state_is_recording() || !state_is_off());
}

static bool roots_add(const struct mtrace_root *roots, size_t n_roots)
{
    bool all = true;

    for (size_t i = 0; i < n_roots; i++)
        all &= object_roots_add(&roots[i]);
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

static size_t walk_warnings(const struct mtrace_walk *walk, const char *const **ret_texts)
{
    if (ret_texts)
        *ret_texts = walk->warnings;
    return walk->n_warnings;
}

static int walk_record(const struct mtrace_walk *walk, const char *name)
{
    (void)lifecycle_is_ready(); /* a fork child learns by it what it is */
    return object_walk_record(walk, name);
}

static uint64_t size_of_unique(const struct mtrace_root *object)
{
    struct mtrace_walk *walk = is_present() ? object_walk_new(true) : NULL;
    uint64_t bytes;

    if (!walk)
        return 0;
    object_walk_object(walk, object);
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
    .walk_object = object_walk_object,
    .visit = object_walk_visit,
    .walk_total_bytes = object_walk_total_bytes,
    .walk_warnings = walk_warnings,
    .walk_print = object_walk_print,
    .walk_record = walk_record,
    .size_of_unique = size_of_unique,
};
