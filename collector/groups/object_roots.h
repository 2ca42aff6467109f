/* SPDX-License-Identifier: MIT */
/*
 * object_roots: the objects at which walks begin, registered by the program and its libraries.
 *
 * Invariants
 *   OR-1 An object is registered once. Registering it again replaces its description.
 *   OR-2 Removing takes no lock and cannot fail: the object may be freed next, and no walk that
 *        begins afterwards sees it.
 *
 * Threads: any; a walk that runs at the same time sees a root or not. Async-signal-safe. On failure
 * false, or no root: there are too many, or the lock is taken (rare_lock.h).
 */
#ifndef MTRACE_COLLECTOR_OBJECT_ROOTS_H
#define MTRACE_COLLECTOR_OBJECT_ROOTS_H

#include "include/mtrace_objects.h"

enum {
    OBJECT_ROOTS_MOST = 4096
};

/* The object and its name must live as long as the object is registered. *root is copied. */
bool object_roots_add(const struct mtrace_root *root);

void object_roots_remove(const void *object);

/* Number of places. Each may have a root. */
size_t object_roots_count(void);

/* The root at place i. Its object is NULL if there is none. */
struct mtrace_root object_roots_at(size_t i);

#endif
