/* SPDX-License-Identifier: MIT */
/*
 * text_arena: many small texts that are freed together.
 *
 * Model:   bump allocation out of blocks; all zero is an empty arena.
 * Threads: one per arena.
 * Failure: NULL without memory.
 */
#ifndef MTRACE_IMPORTER_TEXT_ARENA_H
#define MTRACE_IMPORTER_TEXT_ARENA_H

#include <stddef.h>

struct text_arena_block;

struct text_arena {
    struct text_arena_block *blocks;
};

void text_arena_done(struct text_arena *arena);

/* A copy of n bytes with a NUL behind them. */
char *text_arena_copy(struct text_arena *arena, const void *bytes, size_t n);

#endif
