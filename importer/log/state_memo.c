/* SPDX-License-Identifier: MIT */
#include "importer/log/state_memo.h"

#include "lib/base/dynamic_array.h"

#define XXH_INLINE_ALL
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void state_memo_cut(struct state_memo *memo, unsigned part_number, size_t n_chunks)
{
    struct state_memo_part *part = &memo->parts[part_number];

    while (part->n > n_chunks)
        free(part->chunks[--part->n].packed);
}

void state_memo_done(struct state_memo *memo)
{
    for (unsigned i = 0; i < STATE_MEMO_PARTS; i++) {
        state_memo_cut(memo, i, 0);
        free(memo->parts[i].chunks);
    }
    *memo = (struct state_memo){0};
}

/* Returns the chunk of this place, or a new empty one; NULL: no memory. */
static struct state_memo_chunk *chunk_at(struct state_memo_part *part, size_t place)
{
    if (place < part->n)
        return &part->chunks[place];
    if (place > part->n) /* the previous one could not be cached */
        return NULL;
    struct state_memo_chunk *chunks =
        dynamic_array_reserve(part->chunks, &part->capacity, place + 1, sizeof *chunks);
    if (!chunks)
        return NULL;
    part->chunks = chunks;
    part->n++;
    chunks[place] = (struct state_memo_chunk){0};
    return &chunks[place];
}

const uint8_t *state_memo_find(struct state_memo *memo, unsigned part, size_t place,
                               const void *raw, size_t n_raw, size_t *ret_n_packed)
{
    struct state_memo_chunk *chunk = chunk_at(&memo->parts[part], place);
    XXH128_hash_t hash = XXH3_128bits(raw, n_raw);

    if (!chunk)
        return NULL;
    if (chunk->packed && chunk->n_raw == n_raw && chunk->hash[0] == hash.low64
        && chunk->hash[1] == hash.high64) {
        *ret_n_packed = chunk->n_packed;
        return chunk->packed;
    }
    free(chunk->packed);
    *chunk = (struct state_memo_chunk){.hash = {hash.low64, hash.high64}, .n_raw = n_raw};
    return NULL;
}

void state_memo_put(struct state_memo *memo, unsigned part_number, size_t place, const void *packed,
                    size_t n_packed)
{
    struct state_memo_part *part = &memo->parts[part_number];

    if (place >= part->n)
        return;
    struct state_memo_chunk *chunk = &part->chunks[place];
    chunk->packed = malloc(n_packed);
    if (!chunk->packed)
        return;
    memcpy(chunk->packed, packed, n_packed);
    chunk->n_packed = n_packed;
}
