/* SPDX-License-Identifier: MIT */
/*
 * inside_plan: what mtrace-record found out about an allocator inside the executable, read.
 *
 * Model:   a line of numbers (recorder/patch/patch_plan.h): which file, then for each
 *          function what its arguments mean, where it is, which bytes are there and what they
 *          become elsewhere.
 * Invariants
 *   IP-1 A plan that makes no sense in any part is none.
 *   IP-2 Nothing outside of the line is read; no number of it leads out of the arrays.
 * Threads: one, before main. Failure: false, 0.
 */
#ifndef MTRACE_COLLECTOR_EMBEDDED_PATCH_H
#define MTRACE_COLLECTOR_EMBEDDED_PATCH_H

#include "collector/os/code_patch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    INSIDE_ARGUMENTS = 5,
    EMBEDDED_ALLOCATOR_NO_ARGUMENT = 255,
};

/* What a function of the allocator means: which of its arguments is what. */
struct embedded_allocator_entry {
    uintptr_t (*original)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
    size_t (*usable)(const void *block, int flags); /* NULL: not known */
    uint8_t size, times, alignment, flags, block, store;
    uint8_t call; /* enum log_call */
    char kind;    /* the first letter of its shape */
};

struct embedded_patch {
    const char *at;
    const char *end;
    bool is_bad;
};

/* The plan is about the file that this process runs. Goes on to the next part. */
bool embedded_patch_is_about_us(struct embedded_patch *plan);

/* Behind that: not all functions are in it. */
bool embedded_patch_is_partial(struct embedded_patch *plan);

/* The functions, of an executable that is loaded at base; how many, 0: IP-1. All of each is set but
 * `original` and the hook of the patch, whose argument is the entry. */
size_t embedded_patch_read(struct embedded_patch *plan, uintptr_t base,
                           struct embedded_allocator_entry *ret_entries,
                           struct code_patch *ret_patches, size_t most);

#endif
