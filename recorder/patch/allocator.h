/* SPDX-License-Identifier: MIT */
/*
 * allocator: does the program bring an allocator that needs special treatment?
 *
 * Libraries are recognized by their names in LD_PRELOAD and DT_NEEDED. One that is loaded
 * indirectly is not found; then the collector says so, and the user sets MTRACE_LIBRARY to
 * libmtrace-new.so. Allocators inside the executable are recognized by function names (.symtab,
 * .dynsym). In a stripped executable, some are recognized by their messages; these cannot be
 * redirected.
 *
 * Threads: one. Errors: false or NULL. The file may be anything, and may be truncated while it is
 * read.
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
    bool has_operators;     /* its C++ operators do not call malloc by name */
    struct patch_plan plan; /* for one inside the executable; free with patch_plan_done */
};

/* Call before the program starts. `path`: the program; `preload`: its LD_PRELOAD, or NULL. */
void allocator_look(const char *path, const char *preload, enum allocator_plan wanted,
                    struct allocator_use *ret_use);

/* The program uses AddressSanitizer, which aborts if another library precedes it. */
bool allocator_wants_to_be_first(const char *path, const char *preload);

/* The known allocator inside the executable, which no library can interpose: "jemalloc"; NULL: none
 * known. The program probably uses it. */
const char *allocator_inside(const char *path);

/* How to redirect that allocator; any: EP-3 of patch_plan.h. Valid until the next call; never
 * NULL. Both functions cache the last file: a browser runs dozens of processes of one 300-MB
 * executable. */
const struct patch_plan *allocator_plan_inside(const char *path, bool any);

#endif
