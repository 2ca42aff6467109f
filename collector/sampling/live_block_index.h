/* SPDX-License-Identifier: MIT */
/*
 * live_block_index: properties of each live block by its address, once the program needs them.
 *
 * The index consists of tables (address_tables.h) with places of 32 bytes. A block is in one of the
 * buckets of its address. The newest table is searched first; if all buckets are full, a table is
 * added. Nothing is ever moved or freed.
 *
 * Invariants
 *   KB-1 A place is taken by one compare-and-swap, filled, and then shows its address by one
 *        release store; it is emptied in reverse order. A siglongjmp in between costs one place
 *        until the next block of that address is put there. A held place (live_block_index_hold) is
 *        lost for good.
 *   KB-2 The caller puts a block after the allocator made it, and takes it before the allocator
 *        gets it back. So no two threads put one address at the same time, and no address is there
 *        twice.
 *   KB-3 A block replaces an entry of its address whose free was not seen: a thread freed that
 *        block while the index began, or the free cannot be observed.
 *   KB-4 Fork children inherit the index unchanged.
 *   KB-5 A table is added only if at least one place of 16 is used in a sample of the newest table.
 *        So places of one address that are lost for good cost one unknown block, not twice the
 *        memory.
 *
 * Threads: any, without locks. Async-signal-safe. On failure a block is unknown, and counted.
 */
#ifndef MTRACE_COLLECTOR_LIVE_BLOCK_INDEX_H
#define MTRACE_COLLECTOR_LIVE_BLOCK_INDEX_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known_block {
    size_t size_bytes, usable_bytes; /* usable 0: unknown */
    uint32_t group, thread, node;    /* of its allocation; the group of its last move */
};

/* Begins the index. Blocks that were allocated before are unknown. False: no memory. */
MTRACE_NODISCARD bool live_block_index_begin(void);

void live_block_index_put(const void *block, const struct known_block *known);

/* Removes a block, or only reads it. False: the block is unknown. */
MTRACE_NODISCARD bool live_block_index_take(const void *block, struct known_block *ret);
MTRACE_NODISCARD bool live_block_index_find(const void *block, struct known_block *ret);

/* Removes a block, but keeps its place until live_block_index_let_go or live_block_index_give_back.
 * NULL: the block is unknown. */
struct known_place;
struct known_place *live_block_index_hold(const void *block);
struct known_block live_block_index_held(const struct known_place *place);
void live_block_index_let_go(struct known_place *place);
void live_block_index_give_back(struct known_place *place, const void *block);

/* Sets the group of a block. *ret: its properties before. False: the block is unknown. */
MTRACE_NODISCARD bool live_block_index_move(const void *block, uint32_t group,
                                            struct known_block *ret);

/* After a time without recording: frees in that time were not seen, so all blocks count as lost. */
void live_block_index_forget_all(void);

/* Number of blocks without memory for their place, or whose free was not seen. */
uint64_t live_block_index_count_lost(void);

#endif
