/* SPDX-License-Identifier: MIT */
#include "lib/base/intern.h"

#include "lib/base/dynamic_array.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    BLOCK_BYTES = 64 * 1024
};

struct intern_block {
    struct intern_block *next;
    size_t used;
    size_t size;
    char bytes[];
};

void intern_init(struct intern *intern)
{
    memset(intern, 0, sizeof(*intern));
}

void intern_done(struct intern *intern)
{
    struct intern_block *block = intern->blocks;

    while (block) {
        struct intern_block *next = block->next;
        free(block);
        block = next;
    }
    free(intern->strings);
    id_table_done(&intern->table);
    intern_init(intern);
}

/* A long string gets its own block after the first, so that the first stays in use. */
static char *block_take(struct intern *intern, size_t size)
{
    struct intern_block *block = intern->blocks;
    size_t block_size = size > BLOCK_BYTES ? size : BLOCK_BYTES;

    if (!block || block->size - block->used < size) {
        struct intern_block *fresh = malloc(sizeof(*fresh) + block_size);
        if (!fresh)
            return NULL;
        fresh->used = 0;
        fresh->size = block_size;
        if (block && size > BLOCK_BYTES) {
            fresh->next = block->next;
            block->next = fresh;
        } else {
            fresh->next = block;
            intern->blocks = fresh;
        }
        block = fresh;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

struct sought {
    const struct intern *intern;
    size_t size;
};

static bool equals(const void *context, uint32_t id, const void *text)
{
    const struct sought *sought = context;
    const char *known = sought->intern->strings[id - 1];

    return strncmp(known, text, sought->size) == 0 && known[sought->size] == '\0';
}

int64_t intern_find(const struct intern *intern, const char *text, size_t size)
{
    struct sought sought = {intern, size};
    uint32_t id = id_table_find(&intern->table, XXH3_64bits(text, size), equals, &sought, text);

    return id ? (int64_t)id - 1 : INTERN_ABSENT;
}

int64_t intern_add(struct intern *intern, const char *text, size_t size)
{
    uint64_t hash = XXH3_64bits(text, size);
    struct sought sought = {intern, size};
    uint32_t id = id_table_find(&intern->table, hash, equals, &sought, text);
    uint32_t number = intern->n_strings;
    const char **strings;
    char *copy;

    if (id)
        return id - 1;
    strings = dynamic_array_reserve(intern->strings, &intern->n_allocated, (size_t)number + 1,
                                    sizeof(*strings));
    if (!strings)
        return INTERN_NOMEM;
    intern->strings = strings;
    copy = block_take(intern, size + 1);
    if (!copy || id_table_add(&intern->table, hash, number + 1) != 0)
        return INTERN_NOMEM;
    memcpy(copy, text, size);
    copy[size] = '\0';
    strings[number] = copy;
    intern->n_strings++;
    return number;
}
