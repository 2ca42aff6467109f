/* SPDX-License-Identifier: MIT */
/*
 * embedded_patch: reads the patch plan for an allocator inside the executable.
 *
 * A plan is one line of numbers (recorder/patch/patch_plan.h): the identity of the file, then for
 * each function its arguments, its address, the bytes expected there and their relocated form.
 *
 * Invariants
 *   IP-1 A plan with an error anywhere is rejected as a whole.
 *   IP-2 The reader stays within the line, and no number in it leads outside of an array.
 *
 * Threads: one, before main. On failure the functions return false or 0.
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

/* A function of the allocator, and the position of each of its arguments. */
struct embedded_allocator_entry {
    uintptr_t (*original)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
    size_t (*usable)(const void *block, int flags); /* NULL: unknown */
    uint8_t size, times, alignment, flags, block, store;
    uint8_t call; /* enum log_call */
    char kind;    /* the first letter of its shape */
};

struct embedded_patch {
    const char *at;
    const char *end;
    bool is_bad;
};

/* True if the plan is for the executable of this process. Advances to the next part. */
bool embedded_patch_is_about_us(struct embedded_patch *plan);

/* Reads the next part: true if the plan lacks some functions of the allocator. */
bool embedded_patch_is_partial(struct embedded_patch *plan);

/* Reads the functions of an executable loaded at base, and returns their number; 0: an error
 * (IP-1). Does not set `original` and the hook of a patch. The argument of a hook is its entry. */
size_t embedded_patch_read(struct embedded_patch *plan, uintptr_t base,
                           struct embedded_allocator_entry *ret_entries,
                           struct code_patch *ret_patches, size_t most);

#endif
