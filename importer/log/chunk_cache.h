/* SPDX-License-Identifier: MIT */
/*
 * chunk_cache: cache of the chunks of the last saved checkpoint, so that unchanged ones are not
 * compressed again.
 *
 * Most of a checkpoint is old and does not change: freed blocks of a peak, snapshots, totals of
 * inactive stacks. A chunk is identified by its part, its position in the part, its length, and a
 * 128-bit hash (XXH3) of its uncompressed bytes.
 *
 * Invariants
 *   ME-1 A chunk that is found was made from the same bytes.
 *   ME-2 Memory: the size of the checkpoint file, and 48 bytes per chunk.
 *
 * Failure: without memory a chunk is not cached.
 */
#ifndef MTRACE_IMPORTER_CHUNK_CACHE_H
#define MTRACE_IMPORTER_CHUNK_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum {
    CHUNK_CACHE_PARTS = 16
};

struct chunk_cache_chunk {
    uint64_t hash[2];
    uint8_t *packed;
    size_t n_raw, n_packed;
};

struct chunk_cache_part {
    struct chunk_cache_chunk *chunks;
    size_t n, capacity;
};

/* All zero: empty. */
struct chunk_cache {
    struct chunk_cache_part parts[CHUNK_CACHE_PARTS];
};

void chunk_cache_done(struct chunk_cache *cache);

/* NULL: the chunk is new or changed; call chunk_cache_put. The result is valid until the next
 * call. */
const uint8_t *chunk_cache_find(struct chunk_cache *cache, unsigned part, size_t place,
                                const void *raw, size_t n_raw, size_t *ret_n_packed);
void chunk_cache_put(struct chunk_cache *cache, unsigned part, size_t place, const void *packed,
                     size_t n_packed);

/* Removes chunks beyond n_chunks of the part. */
void chunk_cache_cut(struct chunk_cache *cache, unsigned part, size_t n_chunks);

#endif
