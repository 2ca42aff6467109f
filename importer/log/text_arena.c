/* SPDX-License-Identifier: MIT */
#include "importer/log/text_arena.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 32768
};

struct text_arena_block {
    struct text_arena_block *next;
    size_t used, capacity;
    char bytes[];
};

void text_arena_done(struct text_arena *arena)
{
    while (arena->blocks) {
        struct text_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

static struct text_arena_block *add_block(struct text_arena *arena, size_t n)
{
    size_t capacity = n > BLOCK_BYTES ? n : BLOCK_BYTES;
    struct text_arena_block *block = malloc(sizeof(*block) + capacity);

    if (block) {
        block->next = arena->blocks;
        block->used = 0;
        block->capacity = capacity;
        arena->blocks = block;
    }
    return block;
}

char *text_arena_copy(struct text_arena *arena, const void *bytes, size_t n)
{
    struct text_arena_block *block = arena->blocks;
    char *copy;

    if (!block || block->capacity - block->used <= n)
        block = add_block(arena, n + 1);
    if (!block)
        return NULL;
    copy = block->bytes + block->used;
    block->used += n + 1;
    if (n > 0)
        memcpy(copy, bytes, n);
    copy[n] = '\0';
    return copy;
}
