/* SPDX-License-Identifier: MIT */
/*
 * debug_index: finds ELF files below the --debug-dir folders by build id, whatever their names are.
 *
 * The folders are scanned once, at the first lookup. Only headers and notes are read. Folders named
 * .build-id are skipped, because debug_search finds their files by name. Links to folders are not
 * followed. Any thread. A file that cannot be read, or for which there is no memory, is not found.
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

/* Returns all files with the build id; *ret_n of them. They live as long as the index, which may be
 * NULL. */
const struct debug_index_entry *debug_index_find(struct debug_index *index, const char *build_id,
                                                 size_t *ret_n);

/* Accepts NULL. */
void debug_index_free(struct debug_index *index);

#endif
