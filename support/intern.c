/* SPDX-License-Identifier: MIT */
#include "support/intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    FIRST_SLOTS = 64,
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
    free(intern->slots);
    free(intern->strings);
    free(intern->hashes);
    intern_init(intern);
}

/* A long string gets a block of its own behind the first, so that the first stays in use. */
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

static void slot_put(uint32_t *slots, size_t n_slots, uint64_t hash, uint32_t number)
{
    size_t i = (size_t)hash & (n_slots - 1);

    while (slots[i])
        i = (i + 1) & (n_slots - 1);
    slots[i] = number + 1;
}

static bool grow_slots(struct intern *intern)
{
    size_t n_slots = intern->n_slots ? intern->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (uint32_t i = 0; i < intern->n_strings; i++)
        slot_put(slots, n_slots, intern->hashes[i], i);
    free(intern->slots);
    intern->slots = slots;
    intern->n_slots = n_slots;
    return true;
}

static bool grow_strings(struct intern *intern)
{
    uint32_t n_allocated = intern->n_allocated ? intern->n_allocated * 2 : FIRST_SLOTS;
    const char **strings = realloc(intern->strings, n_allocated * sizeof(*strings));
    uint64_t *hashes;

    if (!strings)
        return false;
    intern->strings = strings;
    hashes = realloc(intern->hashes, n_allocated * sizeof(*hashes));
    if (!hashes)
        return false;
    intern->hashes = hashes;
    intern->n_allocated = n_allocated;
    return true;
}

static int64_t find(const struct intern *intern, const char *text, size_t size, uint64_t hash)
{
    size_t mask = intern->n_slots - 1;

    for (size_t i = (size_t)hash & mask; intern->slots[i]; i = (i + 1) & mask) {
        uint32_t number = intern->slots[i] - 1;
        const char *known = intern->strings[number];
        if (intern->hashes[number] == hash && !strncmp(known, text, size) && !known[size])
            return number;
    }
    return -1;
}

int64_t intern_add(struct intern *intern, const char *text, size_t size)
{
    uint64_t hash = XXH3_64bits(text, size);
    uint32_t number = intern->n_strings;
    char *copy;

    if (intern->n_slots) {
        int64_t known = find(intern, text, size, hash);
        if (known >= 0)
            return known;
    }
    if ((size_t)number * 2 >= intern->n_slots && !grow_slots(intern))
        return INTERN_NOMEM;
    if (number == intern->n_allocated && !grow_strings(intern))
        return INTERN_NOMEM;
    copy = block_take(intern, size + 1);
    if (!copy)
        return INTERN_NOMEM;
    memcpy(copy, text, size);
    copy[size] = '\0';
    intern->strings[number] = copy;
    intern->hashes[number] = hash;
    intern->n_strings++;
    slot_put(intern->slots, intern->n_slots, hash, number);
    return number;
}
