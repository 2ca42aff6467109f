/* SPDX-License-Identifier: MIT */
/*
 * allocator: does the program bring an allocator that wants to be treated in its own way?
 *
 * Model: a library by its name, in LD_PRELOAD and among what the program is linked with (DT_NEEDED).
 *        One that comes in by another library is not found; then the collector says so, and
 *        MTRACE_LIBRARY names libmtrace-new.so by hand. One inside the executable by the names of
 *        its functions (.symtab, .dynsym). A stripped executable has none, and nobody knows.
 * Failure: false, NULL. The file may be anything, and be cut while it is read.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_ALLOCATOR_H
#define MTRACE_RECORDER_ALLOCATOR_H

#include "recorder/patch/patch_plan.h"

#include <stdbool.h>

enum allocator_plan {
    ALLOCATOR_LET_BE,
    ALLOCATOR_PLAN_PROVEN, /* EP-3 of patch_plan.h */
    ALLOCATOR_PLAN_ANY,
};

struct allocator_use {
    enum allocator_plan wanted;
    bool has_operators; /* its C++ operators do not call malloc by name */
    struct patch_plan
        plan; /* as wanted, for one inside the executable; give it to patch_plan_done */
};

/* What must be known before the program starts. `path`: of the program; `preload`: its LD_PRELOAD, or
 * NULL. */
void allocator_look(const char *path, const char *preload, enum allocator_plan wanted,
                    struct allocator_use *ret_use);

/* It is AddressSanitizer's, which ends a program in which another library comes before it. */
bool allocator_wants_to_be_first(const char *path, const char *preload);

/* The name of a known allocator that the executable has inside, where no library can stand before
 * it: "jemalloc"; NULL: none is known. That the program uses it is likely, not certain. */
const char *allocator_inside(const char *path);

/* How that one could be redirected; any: EP-3 of patch_plan.h. Valid until the next call; never NULL. Both functions
 * read the same file once: a browser has dozens of processes of one executable of 300 MB. */
const struct patch_plan *allocator_plan_inside(const char *path, bool any);

#endif
