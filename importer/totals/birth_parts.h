/* SPDX-License-Identifier: MIT */
/*
 * birth_parts: when the blocks that were left were born: blocks and bytes by stack and part of the process's life.
 *
 * Model:   a stack has a row of pieces of eight parts each, made when a block of them comes: what a stack leaks was mostly born in few of them, and a
 *          million blocks in the order of their addresses are of any stack, one after the other.
 *          32 bytes for each stack, 128 for each piece. All zero is empty.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_BIRTH_PARTS_H
#define MTRACE_IMPORTER_BIRTH_PARTS_H

#include "importer/totals/pair_totals.h"
#include "lib/abi/attr.h"

#include <stddef.h>
#include <stdint.h>

enum {
    BIRTH_PARTS = 64, /* of a life */
    BIRTH_PARTS_PER_PIECE = 8
};

struct birth_part {
    uint64_t blocks, bytes;
};

struct birth_parts {
    uint32_t (*rows)[BIRTH_PARTS / BIRTH_PARTS_PER_PIECE]; /* index + 1 of a piece; 0: none */
    struct birth_part (*pieces)[BIRTH_PARTS_PER_PIECE];
    size_t n_pieces, max_pieces;
};

void birth_parts_done(struct birth_parts *births);

/* Called for the first block of a piece. */
int birth_parts_make(struct birth_parts *births, uint32_t n_stacks, uint32_t stack, uint32_t part,
                     struct error *err);

/* Blocks of that weight; stack < n_stacks, which is always the same; part < BIRTH_PARTS. */
MTRACE_INLINE int birth_parts_add(struct birth_parts *births, uint32_t n_stacks, uint32_t stack,
                                  uint32_t part, const struct sample_weight *weight,
                                  struct error *err)
{
    unsigned piece = part / BIRTH_PARTS_PER_PIECE;
    int code = mtrace_unlikely(!births->rows || !births->rows[stack][piece])
                   ? birth_parts_make(births, n_stacks, stack, part, err)
                   : 0;

    if (mtrace_unlikely(code))
        return code;
    struct birth_part *own =
        &births->pieces[births->rows[stack][piece] - 1][part % BIRTH_PARTS_PER_PIECE];
    own->blocks += weight->blocks;
    own->bytes += weight->bytes;
    return 0;
}

/* What the stack has, in order of the parts, to the end of the tally: from is `node`, to the part. */
int birth_parts_tell(const struct birth_parts *births, uint32_t stack, uint32_t process,
                     uint32_t node, struct hash_map *tally, struct error *err);

#endif
