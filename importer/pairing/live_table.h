/* SPDX-License-Identifier: MIT */
/*
 * live_table: the live blocks of one process, found by address.
 *
 * Blocks are in pieces that never move. An open-addressing index of 4-byte slots maps an address to
 * its block. A slot holds the block's number and, in the remaining bits, a tag of the address's
 * hash, so that few probes touch a block in vain. A caller that knows the next events prefetches
 * the slots and blocks that they will need.
 *
 * Invariants
 *   LT-1 An address is in the table at most once.
 *   LT-2 Memory: 48 bytes per block, at most 16 for its slots (24 while they grow), for the largest
 *        number of live blocks. Plus 4 KiB, and up to 2 MiB from 2^18 blocks on (huge pages). With
 *        groups, 4 bytes per number up to the last such block.
 *   LT-3 A block keeps its place until it is removed; its place is then reused.
 *
 * Threads: one at a time.
 * Errors: live_table_add and live_table_set_group: memory; live_table_add: more than 2^29 blocks.
 */
#ifndef MTRACE_IMPORTER_LIVE_TABLE_H
#define MTRACE_IMPORTER_LIVE_TABLE_H

#include "importer/log/checkpoint_io.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields that do not fit a word of their own use spare bits of others; access them through the
 * functions below. */
struct live_block {
    uint64_t address : 48;
    uint64_t slack_low : 16;
    uint64_t allocation_id : 46;
    uint64_t alignment_log2 : 6; /* 0: malloc's own */
    uint64_t call : 8;           /* enum log_call | LOG_CHUNK_* */
    uint64_t allocations_middle : 4;
    uint64_t alloc_ns : 56;
    uint64_t slack_high : 4;
    uint64_t allocations_high : 4;
    uint64_t size : 48;
    uint64_t slack_middle : 16;
    uint32_t backtrace;
    uint32_t thread;
    uint32_t allocations_low;
    uint32_t chain; /* of pairing.c; 0: never reallocated */
};

_Static_assert(sizeof(struct live_block) == 48, "LT-2");

/* One million ids per second for as long as alloc_ns can count. */
#define LIVE_BLOCK_MAX_ID ((UINT64_C(1) << 46) - 1)

#define LIVE_BLOCK_SLACK_UNKNOWN ((UINT64_C(1) << 36) - 1)

/* Usable minus requested bytes, at most LIVE_BLOCK_SLACK_UNKNOWN - 1; LIVE_BLOCK_SLACK_UNKNOWN: not
 * in the log. */
static inline uint64_t live_block_slack(const struct live_block *block)
{
    return (uint64_t)block->slack_low | (uint64_t)block->slack_middle << 16
           | (uint64_t)block->slack_high << 32;
}

/* 0: none, or not known. */
static inline uint64_t live_block_known_slack(const struct live_block *block)
{
    uint64_t slack = live_block_slack(block);

    return slack == LIVE_BLOCK_SLACK_UNKNOWN ? 0 : slack;
}

static inline void live_block_set_slack(struct live_block *block, uint64_t slack)
{
    block->slack_low = slack & 0xffff;
    block->slack_middle = slack >> 16 & 0xffff;
    block->slack_high = slack >> 32 & 0xf;
}

/* Number of allocations of its thread up to this one, modulo 2^40. */
static inline uint64_t live_block_allocations(const struct live_block *block)
{
    return (uint64_t)block->allocations_low | (uint64_t)block->allocations_middle << 32
           | (uint64_t)block->allocations_high << 36;
}

static inline void live_block_set_allocations(struct live_block *block, uint64_t allocations)
{
    block->allocations_low = (uint32_t)allocations;
    block->allocations_middle = allocations >> 32 & 0xf;
    block->allocations_high = allocations >> 36 & 0xf;
}

/* Salt for sample_weight.h. Both parts are needed: a thread may have all blocks at one address, and
 * the nth blocks of several threads may have one size. */
static inline uint64_t live_block_salt(const struct live_block *block)
{
    return live_block_allocations(block) * 0x9e3779b97f4a7c15u ^ block->address;
}

enum {
    LIVE_TABLE_PIECE_BLOCKS = 64
};

struct live_table {
    struct live_block **pieces;
    uint32_t *slots; /* 0 empty, 1 removed, else tag + number + 2 */
    size_t n_pieces, max_pieces;
    size_t n_slots; /* a power of two, or 0 */
    size_t n_blocks;
    size_t n_removed;   /* slots that hold 1 */
    uint32_t n_numbers; /* block numbers used so far */
    uint32_t first_free,
        second_free;  /* number + 1 of free places, linked through backtrace from the second on */
    uint32_t *groups; /* by block number; of free places undefined; 0: root; NULL: all root */
    size_t max_groups;
    uint32_t number_mask; /* the bits of a slot that hold a number */
    unsigned home_shift;  /* hash >> home_shift is the first slot */
    uint64_t sought;      /* address of the last live_table_find, found or not; 0: invalid */
    size_t sought_slot;   /* slot of that address, or a vacant slot for it */
};

void live_table_init(struct live_table *table);
void live_table_done(struct live_table *table);

/* NULL if the address is not live. A following add of it or remove of its block is cheap. */
struct live_block *live_table_find(struct live_table *table, uint64_t address);

/* Prefetches the slot of an address that a later event names. */
void live_table_prefetch(const struct live_table *table, uint64_t address);

/* Once the slot is in the cache: the block of a slot with a matching tag, not yet read. It nearly
 * always has the address if the address is live; NULL: none. A hint, valid until the next event. */
const struct live_block *live_table_guess(const struct live_table *table, uint64_t address);

/* Adds a block for an address that is not in the table; all other fields are zero. */
int live_table_add(struct live_table *table, uint64_t address, struct live_block **ret_block,
                   struct error *err);

/* `block` is in the table; its content is lost. */
void live_table_remove(struct live_table *table, const struct live_block *block);

/* Number of the group to which the block is charged; the root is 0. A new block's group is
 * undefined until live_table_set_group is called: its place may hold the group of an earlier
 * block. */
uint32_t live_table_group_slow(const struct live_table *table, const struct live_block *block);
int live_table_set_group_slow(struct live_table *table, const struct live_block *block,
                              uint32_t group, struct error *err);

static inline uint32_t live_table_group(const struct live_table *table,
                                        const struct live_block *block)
{
    return table->groups ? live_table_group_slow(table, block) : 0;
}

static inline int live_table_set_group(struct live_table *table, const struct live_block *block,
                                       uint32_t group, struct error *err)
{
    return group || table->groups ? live_table_set_group_slow(table, block, group, err) : 0;
}

/* Walks all blocks in no order: *cursor starts at 0; NULL at the end. During the walk nothing may
 * be added; the block just returned may be removed. */
struct live_block *live_table_next(const struct live_table *table, uint32_t *cursor);

/* The same by pieces: the places from index * LIVE_TABLE_PIECE_BLOCKS on; NULL after the last one.
 * Places without an address hold no block. */
const struct live_block *live_table_piece(const struct live_table *table, size_t index,
                                          size_t *ret_n);

/* Asserts LT-1 and the counts; slow. */
void live_table_check(struct live_table *table);

/* Saves the blocks without free places, or loads them into an empty table (checkpoint_io.h). */
void live_table_visit(struct live_table *table, struct checkpoint_io *io);

#endif
