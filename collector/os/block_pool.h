/* SPDX-License-Identifier: MIT */
/*
 * block_pool: blocks of one size that threads take and give back, as they are, to those after them.
 *
 * Model:   a Treiber stack. A block put back is the next one taken, with what is in it: the second
 *          of two short threads finds the pages, and the memory, of the first.
 * Invariants
 *   BP-1 A block that was in the stack once is never unmapped: a thread that is about to take it,
 *        and is late, reads its link. So only most_kept ever come into the stack; others, of a crowd
 *        of threads, are unmapped when they are put.
 *   BP-2 The top holds 36 bits of a page's number and a tag of 28 bits that each change increments.
 * Threads: any. Signals: safe. Failure: NULL.
 */
#ifndef MTRACE_COLLECTOR_BLOCK_POOL_H
#define MTRACE_COLLECTOR_BLOCK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of each block; the pool's own. */
struct block_link {
    _Atomic uintptr_t next;
    bool is_kept;
};

struct block_pool {
    size_t block_bytes;
    uint32_t most_kept;
    _Atomic uint32_t n_kept;
    _Atomic uint64_t top; /* 0: empty */
};

/* Zeroed the first time, apart from its link. */
void *block_pool_take(struct block_pool *pool);

/* Before a block is put: it will be kept, with all it refers to; else it will be unmapped. */
bool block_pool_keeps(struct block_pool *pool, void *block);

/* After block_pool_keeps was asked. */
void block_pool_put(struct block_pool *pool, void *block);

/* In a fork child, where the blocks are not mapped. */
void block_pool_forget(struct block_pool *pool);

#endif
