/* SPDX-License-Identifier: MIT */
/*
 * state_memo: the chunks of the state that was saved last, so that what did not change since is not packed again.
 *
 * Model:   most of a state is what happened long ago: blocks of a peak that ended, snapshots, totals of stacks that rest. A chunk is known by its part,
 *          its place among the chunks of that, its length, and 128 bits of a hash (XXH3) of its bytes before zstd.
 * Invariants
 *   ME-1 What is found is the chunk, packed, that was put with the same bytes.
 *   ME-2 Memory: what the state takes in its file, and 48 bytes per chunk.
 * Threads: none.
 * Failure: what there is no memory for is not found.
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

/* All zero: nothing is known. */
struct state_memo {
    struct state_memo_part parts[STATE_MEMO_PARTS];
};

void state_memo_done(struct state_memo *memo);

/* NULL: it is another one than last time, or there was none: state_memo_put is to follow. Stays until the next call. */
const uint8_t *state_memo_find(struct state_memo *memo, unsigned part, size_t place,
                               const void *raw, size_t n_raw, size_t *ret_n_packed);
void state_memo_put(struct state_memo *memo, unsigned part, size_t place, const void *packed,
                    size_t n_packed);

/* The part has so many chunks by now. */
void state_memo_cut(struct state_memo *memo, unsigned part, size_t n_chunks);

#endif
