/* SPDX-License-Identifier: MIT */
/*
 * memory: mappings for the collector's own data, and pools of them. It never uses the program's
 * heap.
 *
 * Mappings are zeroed and not inherited by fork (MADV_DONTFORK), except those of
 * memory_map_inherited. Any thread. Async-signal-safe. NULL on failure.
 *
 * A block_pool has blocks of one size that threads take and put back for later threads. It is a
 * Treiber stack. The block put back last is taken next, with its content: the second of two
 * short-lived threads reuses the pages and the memory of the first.
 *
 * Invariants
 *   BP-1 A block that was ever in the stack is never unmapped, because a slow thread may still read
 *        its link. So only max_kept blocks ever enter the stack; further ones are unmapped when
 *        they are put back.
 *   BP-2 The top holds 36 bits of a page number and a 28-bit tag that each change increments.
 */
#ifndef MTRACE_COLLECTOR_MEMORY_H
#define MTRACE_COLLECTOR_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel rounds the size up to pages. Not in core dumps. */
void *memory_map(size_t size_bytes);

/* For memory that the program itself uses (its environment). */
void *memory_map_inherited(size_t size_bytes);

/*
 * Before a fork in a signal handler that interrupted the collector: from now on all mappings are
 * inherited, so that the interrupted code in the child finds them. Later forks take longer.
 */
void memory_inherit(void);

void memory_unmap(void *start, size_t size_bytes);

/*
 * A buffer of MEMORY_BORROWED_BYTES for a short use, so that paths need no space on the program's
 * stack. Its content is arbitrary.
 */
enum {
    MEMORY_BORROWED_BYTES = 8192
};

char *memory_borrow(void);
void memory_return(char *borrowed);

/* In a fork child: another thread of the parent may have had the buffer. */
void memory_forget(void);

/* Unmaps everything. No thread may be in the collector, and no pointer to a mapping may be left. */
void memory_unmap_all(void);

/* ---- pools of blocks ---- */

/* First member of each block; private. */
struct block_link {
    _Atomic uintptr_t next;
    bool is_kept;
};

struct block_pool {
    size_t block_bytes;
    uint32_t max_kept;
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
