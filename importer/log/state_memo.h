/* SPDX-License-Identifier: MIT */
/*
 * state_memo: cache of the chunks of the last saved checkpoint, so that unchanged ones are not
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
#ifndef MTRACE_IMPORTER_STATE_MEMO_H
#define MTRACE_IMPORTER_STATE_MEMO_H

#include <stddef.h>
#include <stdint.h>

enum {
    STATE_MEMO_PARTS = 16
};

struct state_memo_chunk {
    uint64_t hash[2];
    uint8_t *packed;
    size_t n_raw, n_packed;
};

struct state_memo_part {
    struct state_memo_chunk *chunks;
    size_t n, capacity;
};

/* All zero: empty. */
struct state_memo {
    struct state_memo_part parts[STATE_MEMO_PARTS];
};

void state_memo_done(struct state_memo *memo);

/* NULL: the chunk is new or changed; call state_memo_put. The result is valid until the next
 * call. */
const uint8_t *state_memo_find(struct state_memo *memo, unsigned part, size_t place,
                               const void *raw, size_t n_raw, size_t *ret_n_packed);
void state_memo_put(struct state_memo *memo, unsigned part, size_t place, const void *packed,
                    size_t n_packed);

/* Removes chunks beyond n_chunks of the part. */
void state_memo_cut(struct state_memo *memo, unsigned part, size_t n_chunks);

#endif
