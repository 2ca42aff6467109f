/* SPDX-License-Identifier: MIT */
/*
 * known_blocks: what is known of each live block, by its address, once the program has asked for it.
 *
 * Model:   tables (address_tables.h) of places of 32 bytes; a block is in one of the buckets that its address leads to. The newest
 *          table is looked at first; when all buckets are full there is one table more. Nothing is ever moved or given back.
 * Invariants
 *   KB-1 A place is taken by one compare-and-swap, filled, and then shows its address by one release
 *        store; it is emptied the other way round. Who is left in between by siglongjmp costs one place, until the next
 *        block of that address is put there; one that was held (live_block_index_hold), as while its block is resized, for good.
 *   KB-2 The caller puts a block after the allocator made it, and takes it before the allocator gets it
 *        back: no two threads put the same address at once, and no address is there twice.
 *   KB-3 A block is put over what is there of one that ended unseen: its thread freed it while the
 *        first question was asked, or nobody can see who frees it.
 *   KB-4 Fork children inherit it as it was.
 *   KB-5 There is one table more only where one place of 16 in the newest is used: places of one address that are
 *        lost for good cost a block that is not known, not twice the memory.
 * Threads: any, without locks. Signals: safe. Failure: a block is not known, and counted.
 */
#ifndef MTRACE_COLLECTOR_LIVE_BLOCK_INDEX_H
#define MTRACE_COLLECTOR_LIVE_BLOCK_INDEX_H

#include "lib/abi/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct known_block {
    size_t size_bytes, usable_bytes; /* usable 0: not known */
    uint32_t group, thread, node;    /* of its birth, the group of its last move */
};

/* Known are blocks that are put from now on. False: no memory for it. */
MTRACE_NODISCARD bool live_block_index_begin(void);

void live_block_index_put(const void *block, const struct known_block *known);

/* Both: false: it is not known. */
MTRACE_NODISCARD bool live_block_index_take(const void *block, struct known_block *ret);
MTRACE_NODISCARD bool live_block_index_find(const void *block, struct known_block *ret);

/* Takes it, but keeps what is known where it is, until it is let go, or given back to the block. NULL: it
 * is not known. */
struct known_place;
struct known_place *live_block_index_hold(const void *block);
struct known_block live_block_index_held(const struct known_place *place);
void live_block_index_let_go(struct known_place *place);
void live_block_index_give_back(struct known_place *place, const void *block);

/* Its group is this one from now on; what it was known as until now. False: it is not known. */
MTRACE_NODISCARD bool live_block_index_move(const void *block, uint32_t group,
                                            struct known_block *ret);

/* Where nothing was recorded for a while: whose end was not seen then is not told from whose end is still to come, and all count as lost. */
void live_block_index_forget_all(void);

/* Blocks that there was no memory for, or whose end nobody saw. */
uint64_t live_block_index_count_lost(void);

#endif
