/* SPDX-License-Identifier: MIT */
/*
 * allocation_parts: when the blocks that were left were born: blocks and bytes by stack and part of the process's life.
 *
 * Model:   a stack has a row of pieces of eight parts each, made when a block of them comes: what a stack leaks was mostly born in few of them, and a
 *          million blocks in the order of their addresses are of any stack, one after the other.
 *          32 bytes for each stack, 128 for each piece. All zero is empty.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_ALLOCATION_PARTS_H
#define MTRACE_IMPORTER_ALLOCATION_PARTS_H

#include "importer/totals/pair_totals.h"
#include "lib/abi/attr.h"

#include <stddef.h>
#include <stdint.h>

enum {
    ALLOCATION_PARTS = 64, /* of a life */
    ALLOCATION_PARTS_PER_PIECE = 8
};

struct allocation_part {
    uint64_t blocks, bytes;
};

struct allocation_parts {
    uint32_t (
        *rows)[ALLOCATION_PARTS / ALLOCATION_PARTS_PER_PIECE]; /* index + 1 of a piece; 0: none */
    struct allocation_part (*pieces)[ALLOCATION_PARTS_PER_PIECE];
    size_t n_pieces, max_pieces;
};

void allocation_parts_done(struct allocation_parts *allocations);

/* Called for the first block of a piece. */
int allocation_parts_make(struct allocation_parts *allocations, uint32_t n_stacks, uint32_t stack,
                          uint32_t part, struct error *err);

/* Blocks of that weight; stack < n_stacks, which is always the same; part < ALLOCATION_PARTS. */
MTRACE_INLINE int allocation_parts_add(struct allocation_parts *allocations, uint32_t n_stacks,
                                       uint32_t stack, uint32_t part,
                                       const struct sample_weight *weight, struct error *err)
{
    unsigned piece = part / ALLOCATION_PARTS_PER_PIECE;
    int code = mtrace_unlikely(!allocations->rows || !allocations->rows[stack][piece])
                   ? allocation_parts_make(allocations, n_stacks, stack, part, err)
                   : 0;

    if (mtrace_unlikely(code))
        return code;
    struct allocation_part *own =
        &allocations
             ->pieces[allocations->rows[stack][piece] - 1][part % ALLOCATION_PARTS_PER_PIECE];
    own->blocks += weight->blocks;
    own->bytes += weight->bytes;
    return 0;
}

/* What the stack has, in order of the parts, to the end of the tally: from is `node`, to the part. */
int allocation_parts_emit(const struct allocation_parts *allocations, uint32_t stack,
                          uint32_t process, uint32_t node, struct hash_map *tally,
                          struct error *err);

#endif
