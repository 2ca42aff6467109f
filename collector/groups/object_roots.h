/* SPDX-License-Identifier: MIT */
/*
 * object_roots: the objects that walks begin with, as programs and libraries register them.
 *
 * Invariants
 *   OR-1 An object is in it once; who registers it again replaces what was said about it.
 *   OR-2 Removing takes no lock and cannot fail: the object may be freed next, and no walk that begins then is to see it.
 * Threads: any; a walk that runs meanwhile sees a root or not. Signals: safe.
 * Failure: false, or no root: too many, or the lock is not to be had (rare_lock.h).
 */
#ifndef MTRACE_COLLECTOR_OBJECT_ROOTS_H
#define MTRACE_COLLECTOR_OBJECT_ROOTS_H

#include "include/mtrace_objects.h"

enum {
    OBJECT_ROOTS_MOST = 4096
};

/* They must live as long as they are registered, but for those that are copied; so must their names. */
bool object_roots_add(const struct mtrace_root *root);

void object_roots_remove(const void *object);

/* Places there may be roots in, from 0. */
size_t object_roots_count(void);

/* The root in that place; object NULL: none. */
struct mtrace_root object_roots_at(size_t i);

#endif
