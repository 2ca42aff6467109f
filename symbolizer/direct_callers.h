/* SPDX-License-Identifier: MIT */
/*
 * direct_callers: how many functions of a file call a short function of the same file, by its
 * machine code. A recording has only the callers that ran.
 *
 * x86 and AArch64: calls, and jumps to the start of the function, whose target is in the
 * instruction. Bytes between instructions are read as well: a false target is improbable.
 *
 * Errors: none. Other processors, and files that are missing or changed, have no callers.
 */
#ifndef MTRACE_SYMBOLIZER_DIRECT_CALLERS_H
#define MTRACE_SYMBOLIZER_DIRECT_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct direct_callers {
    uint64_t start;  /* of the function: an ELF virtual address */
    uint64_t caller; /* the last one that was found; begins with 0, as the next two */
    size_t n;
    bool is_short; /* at most max_bytes: else n stays 0 */
};

/* Counts the callers of each function of the list, which is sorted by start. build_id: that of the
 * file, in lower-case hex; NULL: unknown, and nothing is counted. */
void direct_callers_count(const char *path, const char *build_id, size_t max_bytes,
                          struct direct_callers *list, size_t n);

#endif
