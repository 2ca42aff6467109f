/* SPDX-License-Identifier: MIT */
/*
 * allocation_parts: when leaked blocks were allocated: blocks and bytes by stack and time bucket.
 *
 * A stack has a row of groups of eight buckets, allocated on first use, because leaks of a stack
 * mostly fall into few of them. Lookup is by index: blocks arrive in order of address, so each may
 * belong to another stack. Memory: 32 bytes per stack, 128 per group. Zero-initialized is empty.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_ALLOCATION_PARTS_H
#define MTRACE_IMPORTER_ALLOCATION_PARTS_H

#include "lib/abi/attr.h"
#include "lib/totals/pair_totals.h"

#include <stddef.h>
#include <stdint.h>

enum {
    ALLOCATION_PARTS = 64, /* time buckets of a process */
    ALLOCATION_PARTS_PER_PIECE = 8
};

struct allocation_part {
    uint64_t blocks, bytes;
};

struct allocation_parts {
    uint32_t (
        *rows)[ALLOCATION_PARTS / ALLOCATION_PARTS_PER_PIECE]; /* index + 1 in pieces; 0: none */
    struct allocation_part (*pieces)[ALLOCATION_PARTS_PER_PIECE];
    size_t n_pieces, max_pieces;
};

void allocation_parts_done(struct allocation_parts *allocations);

/* Allocates the group of the bucket; called for its first block. */
int allocation_parts_make(struct allocation_parts *allocations, uint32_t n_stacks, uint32_t stack,
                          uint32_t part, struct error *err);

/* Adds blocks of that weight. stack < n_stacks, which never changes; part < ALLOCATION_PARTS. */
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

/* Appends the stack's buckets in order to the tally: from is `backtrace`, to is the bucket. */
int allocation_parts_emit(const struct allocation_parts *allocations, uint32_t stack,
                          uint32_t process, uint32_t backtrace, struct hash_map *tally,
                          struct error *err);

#endif
