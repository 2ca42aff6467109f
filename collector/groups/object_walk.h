/* SPDX-License-Identifier: MIT */
/*
 * object_walk: visits objects by functions of the program (include/mtrace_objects.h).
 *
 * An object that is being visited is a frame on the stack and a node of the tree. A block that a
 * pointer owns is claimed. It is visited immediately, or later if the stack is deep already.
 *
 * Invariants
 *   OW-1 A block is visited once in a walk. A second owner is a warning, unless both are shared.
 *   OW-2 Only functions of the program read memory, and only if the first and the last byte of the
 *        object are readable.
 *   OW-3 At most OBJECT_WALK_STACK_BYTES of stack lie between a root and a nested visit.
 *   OW-4 Members by value are visited only if they fit into their object and are not empty. So a
 *        walk ends after at most as many visits as there are bytes, for each level of the tree.
 *   OR-1 A root is registered once. Registering it again replaces its description.
 *   OR-2 Removing a root takes no lock and cannot fail: the object may be freed next, and no walk
 *        that begins afterwards sees it.
 *
 * Threads: one at a time for each walk. Not async-signal-safe. What fails is left out, with a
 * warning.
 */
#ifndef MTRACE_COLLECTOR_OBJECT_WALK_H
#define MTRACE_COLLECTOR_OBJECT_WALK_H

#include "collector/groups/object_tree.h"
#include "include/mtrace_objects.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- roots ---- */

/*
 * The objects at which walks begin, registered by the program and its libraries. Any thread, also
 * while walks run: a walk sees a root or not. Async-signal-safe. On failure false, or no root:
 * there are too many, or the lock is taken (rare_lock.h).
 */
enum {
    OBJECT_ROOTS_MAX = 4096
};

/* The object and its name must live as long as the object is registered. *root is copied. */
bool object_roots_add(const struct mtrace_root *root);

void object_roots_remove(const void *object);

/* Number of places. Each may have a root. */
size_t object_roots_count(void);

/* The root at place i. Its object is NULL if there is none. */
struct mtrace_root object_roots_at(size_t i);

/* ---- walks ---- */

enum {
    OBJECT_WALK_WARNINGS = 64, /* texts kept */
    OBJECT_WALK_STACK_BYTES = 48 * 1024,
    OBJECT_WALK_SCRATCH_BYTES = 1024,
};

enum object_claim_kind {
    OBJECT_CLAIM_ROOT = 0, /* may lie in no block */
    OBJECT_CLAIM_UNIQUE = 1,
    OBJECT_CLAIM_SHARED = 2,
};

struct object_claim {
    uintptr_t address;
    uint64_t size_bytes; /* declared */
    uint32_t node;
    uint32_t kind; /* enum object_claim_kind */
};

struct mtrace_walk {
    struct object_tree tree;
    struct object_array claims; /* struct object_claim, also of second owners */
    struct object_array slots;  /* uint32_t by address: index + 1 of the first claim */
    struct object_array later;  /* blocks that wait for a visit */
    const char *warnings[OBJECT_WALK_WARNINGS];
    size_t n_warnings;
    uint64_t unique_bytes; /* declared, of blocks reached by unique pointers only */
    uintptr_t first_frame;
    uintptr_t readable_page; /* the last page found readable */
    bool is_unique_only;     /* shared targets are left out */
    char scratch[OBJECT_WALK_SCRATCH_BYTES];
};

/* NULL: no memory. */
struct mtrace_walk *object_walk_new(bool is_unique_only);
void object_walk_free(struct mtrace_walk *walk);

void object_walk_object(struct mtrace_walk *walk, const struct mtrace_root *object);
void object_walk_visit(struct mtrace_visitor *visitor, const struct mtrace_member *member);

uint64_t object_walk_total_bytes(const struct mtrace_walk *walk);

/* 0, or an errno value. */
int object_walk_print(const struct mtrace_walk *walk, int fd);
int object_walk_record(const struct mtrace_walk *walk, const char *name);

#endif
