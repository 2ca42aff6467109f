/* SPDX-License-Identifier: MIT */
/*
 * debug_index: ELF files below the folders of --debug-dir by build id, whatever their names are.
 *
 * Model:   The folders are scanned once, at the first question. Only headers and notes of a file are read. Folders
 *          named .build-id are left out: their files have their build ids in their names (debug_search). Links to
 *          folders are not followed.
 * Threads: any. Failure: what cannot be read or kept is not found.
 */
#ifndef MTRACE_SYMBOLIZER_DEBUG_INDEX_H
#define MTRACE_SYMBOLIZER_DEBUG_INDEX_H

#include <stddef.h>

struct debug_index;

struct debug_index_entry {
    char *build_id; /* lower-case hex */
    char *path;
};

/* `dirs` is NULL-terminated, may be NULL, and outlives the index. NULL: no memory. */
struct debug_index *debug_index_new(const char *const *dirs);

/* All files with the build id; *ret_n of them. They live as long as the index, which may be NULL. */
const struct debug_index_entry *debug_index_find(struct debug_index *index, const char *build_id,
                                                 size_t *ret_n);

/* NULL is fine. */
void debug_index_free(struct debug_index *index);

#endif
