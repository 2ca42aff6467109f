/* SPDX-License-Identifier: MIT */
#include "importer/log/chunk_cache.h"

#include "lib/base/dynamic_array.h"

#define XXH_INLINE_ALL
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void chunk_cache_cut(struct chunk_cache *cache, unsigned part_number, size_t n_chunks)
{
    struct chunk_cache_part *part = &cache->parts[part_number];

    while (part->n > n_chunks)
        free(part->chunks[--part->n].packed);
}

void chunk_cache_done(struct chunk_cache *cache)
{
    for (unsigned i = 0; i < CHUNK_CACHE_PARTS; i++) {
        chunk_cache_cut(cache, i, 0);
        free(cache->parts[i].chunks);
    }
    *cache = (struct chunk_cache){0};
}

/* Returns the chunk of this place, or a new empty one; NULL: no memory. */
static struct chunk_cache_chunk *chunk_at(struct chunk_cache_part *part, size_t place)
{
    if (place < part->n)
        return &part->chunks[place];
    if (place > part->n) /* the previous one could not be cached */
        return NULL;
    struct chunk_cache_chunk *chunks =
        dynamic_array_reserve(part->chunks, &part->capacity, place + 1, sizeof *chunks);
    if (!chunks)
        return NULL;
    part->chunks = chunks;
    part->n++;
    chunks[place] = (struct chunk_cache_chunk){0};
    return &chunks[place];
}

const uint8_t *chunk_cache_find(struct chunk_cache *cache, unsigned part, size_t place,
                                const void *raw, size_t n_raw, size_t *ret_n_packed)
{
    struct chunk_cache_chunk *chunk = chunk_at(&cache->parts[part], place);
    XXH128_hash_t hash = XXH3_128bits(raw, n_raw);

    if (!chunk)
        return NULL;
    if (chunk->packed && chunk->n_raw == n_raw && chunk->hash[0] == hash.low64
        && chunk->hash[1] == hash.high64) {
        *ret_n_packed = chunk->n_packed;
        return chunk->packed;
    }
    free(chunk->packed);
    *chunk = (struct chunk_cache_chunk){.hash = {hash.low64, hash.high64}, .n_raw = n_raw};
    return NULL;
}

void chunk_cache_put(struct chunk_cache *cache, unsigned part_number, size_t place,
                     const void *packed, size_t n_packed)
{
    struct chunk_cache_part *part = &cache->parts[part_number];

    if (place >= part->n)
        return;
    struct chunk_cache_chunk *chunk = &part->chunks[place];
    chunk->packed = malloc(n_packed);
    if (!chunk->packed)
        return;
    memcpy(chunk->packed, packed, n_packed);
    chunk->n_packed = n_packed;
}
