/* SPDX-License-Identifier: MIT */
/*
 * block_pool: blocks of one size that threads take and put back for later threads.
 *
 * It is a Treiber stack. The block put back last is taken next, with its content: the second of two
 * short-lived threads reuses the pages and the memory of the first.
 *
 * Invariants
 *   BP-1 A block that was ever in the stack is never unmapped, because a slow thread may still read
 *        its link. So only most_kept blocks ever enter the stack; further ones are unmapped when
 *        they are put back.
 *   BP-2 The top holds 36 bits of a page number and a 28-bit tag that each change increments.
 *
 * Any thread. Async-signal-safe. NULL without memory.
 */
#ifndef MTRACE_COLLECTOR_BLOCK_POOL_H
#define MTRACE_COLLECTOR_BLOCK_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of each block; private. */
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

/* Zeroed the first time, except for its link. */
void *block_pool_take(struct block_pool *pool);

/* Call before a block is put back: true if it and all it refers to will be kept, else it will be
 * unmapped. */
bool block_pool_keeps(struct block_pool *pool, void *block);

/* Call after block_pool_keeps. */
void block_pool_put(struct block_pool *pool, void *block);

/* In a fork child, where the blocks are not mapped. */
void block_pool_forget(struct block_pool *pool);

#endif
