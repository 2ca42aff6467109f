/* SPDX-License-Identifier: MIT */
/* text_arena: bump allocator for many small strings that are freed together. All zero is an empty
 * arena. Threads: one per arena. */
#ifndef MTRACE_IMPORTER_TEXT_ARENA_H
#define MTRACE_IMPORTER_TEXT_ARENA_H

#include <stddef.h>

struct text_arena_block;

struct text_arena {
    struct text_arena_block *blocks;
};

void text_arena_done(struct text_arena *arena);

/* Returns a copy of n bytes with a NUL appended; NULL: no memory. */
char *text_arena_copy(struct text_arena *arena, const void *bytes, size_t n);

#endif
