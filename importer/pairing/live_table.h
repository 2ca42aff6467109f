/* SPDX-License-Identifier: MIT */
/*
 * live_table: the live blocks of one process, found by address.
 *
 * Model:   blocks lie in pieces that never move; an open-addressing index of 4-byte slots leads
 *          from an address to its block. A slot holds the block's number and, in the bits that
 *          number leaves free, some bits of the address's hash, so that few probes touch a block in
 *          vain. Who knows some events ahead which addresses come has a seat for each: what was found out of it so far, while memory was waited for.
 * Invariants
 *   LT-1 An address is in the table at most once.
 *   LT-2 Memory: 48 bytes per block, at most 16 for its slots (24 while they grow) and less than one to find its piece, counted at the
 *        largest number of blocks that were live at once; and 4 KiB to begin with (a piece, the first slots), 2 MiB more from 2^18
 *        blocks on, where pieces share huge pages.
 *        Where blocks have groups: 4 bytes more for each place up to the last such block's.
 *   LT-3 A block keeps its place until it is removed; its place is then reused.
 *   LT-4 What a seat says is a guess, but for the hash. It is used where its block has the address, and its slot has what it had then, so that
 *        it leads there.
 * Threads: none; one user at a time.
 * Failure: only live_table_add can fail: memory, or more than 2^29 blocks.
 */
#ifndef MTRACE_IMPORTER_LIVE_TABLE_H
#define MTRACE_IMPORTER_LIVE_TABLE_H

#include "importer/log/checkpoint_io.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields that do not fit a word of their own are spread over the spare bits of others; use the
 * functions below for them. */
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
    uint32_t node;
    uint32_t thread;
    uint32_t allocations_low;
    uint32_t chain; /* of pairing.c; 0: not reallocated so far */
};

_Static_assert(sizeof(struct live_block) == 48, "LT-2");

/* A million a second for as long as alloc_ns has room for. */
#define LIVE_BLOCK_MOST_ID ((UINT64_C(1) << 46) - 1)

#define LIVE_BLOCK_SLACK_UNKNOWN ((UINT64_C(1) << 36) - 1)

/* Usable minus requested bytes; LIVE_BLOCK_SLACK_UNKNOWN when the log does not say. Larger ones are
 * cut to one below that. */
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

/* How many allocations its thread had made, this one included, modulo 2^40. */
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

/* For sample_weight.h: which birth of its thread it was, and where; a thread may have all its blocks at one address, and threads their nth ones of one size. */
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
    uint32_t n_numbers; /* block numbers ever given out */
    uint32_t first_free,
        second_free;  /* number + 1 of places to reuse, linked through node from the second on */
    uint32_t *groups; /* by number, of blocks of no or another group than the root; 0: root */
    size_t max_groups;
    uint32_t number_mask; /* the bits of a slot that hold a number */
    unsigned home_shift;  /* of a hash: what is left of it is a slot */
    uint64_t
        sought; /* address found, or not, by the last live_table_find; 0: things changed since */
    size_t sought_slot; /* where it is, or where it may be entered */
};

/* Of one address; all zero: of none. Another one for each event that is expected. */
struct live_table_prefetch_slot {
    const struct live_table *table;
    uint64_t address, hash;
    struct live_block *block; /* NULL: none was found so far */
    size_t slot;              /* that leads to it, and what that slot has */
    uint32_t content;
};

void live_table_init(struct live_table *table);
void live_table_done(struct live_table *table);

/* NULL when the address is not live. Adding it or removing its block next is cheap. */
struct live_block *live_table_find(struct live_table *table, uint64_t address);

/* Takes a seat for the address, which is not 0: the first slot on its way is fetched. */
void live_table_expect(const struct live_table *table, uint64_t address,
                       struct live_table_prefetch_slot *ret_prefetch_slot);

/* When that is there: a block that a slot on the way leads to, unread; nearly always the one of the address, if that is live. */
const struct live_block *live_table_guess(const struct live_table *table,
                                          struct live_table_prefetch_slot *prefetch_slot);

/* live_table_find, and live_table_remove of what it found. The seat is one of the address. */
struct live_block *live_table_find_prefetch_slot(const struct live_table *table,
                                                 struct live_table_prefetch_slot *prefetch_slot);
void live_table_remove_prefetch_slot(struct live_table *table,
                                     const struct live_table_prefetch_slot *prefetch_slot);

/* A block for an address that is not in the table; all but the address is zero. */
int live_table_add(struct live_table *table, uint64_t address, struct live_block **ret_block,
                   struct error *err);

/* The same in one look, but the rest is as it comes; NULL, and nothing was done: the address is in the table, or the table has to grow. */
struct live_block *live_table_put_prefetch_slot(
    struct live_table *table, const struct live_table_prefetch_slot *prefetch_slot);

/* Is it a seat of this address? */
static inline bool live_table_is_prefetch_slot(const struct live_table *table, uint64_t address,
                                               const struct live_table_prefetch_slot *prefetch_slot)
{
    return prefetch_slot->address == address && prefetch_slot->table == table;
}

/* `block` is one of the table's; its content is lost. */
void live_table_remove(struct live_table *table, const struct live_block *block);

/* Number of the group that the block is charged to; the root, 0, until it is set. What the block that
 * had its place before was charged to is forgotten by live_table_set_group alone. */
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

/* Walks all blocks in no order: *cursor starts at 0; NULL at the end. Nothing may be added
 * meanwhile; the block just returned may be removed. */
struct live_block *live_table_next(const struct live_table *table, uint32_t *cursor);

/* The same in large steps: the places from index * LIVE_TABLE_PIECE_BLOCKS on, NULL behind the last one. Those without an address hold no
 * block. */
const struct live_block *live_table_piece(const struct live_table *table, size_t index,
                                          size_t *ret_n);

/* Asserts LT-1 and the counts; slow. */
void live_table_check(struct live_table *table);

/* What blocks may refer to. */
struct live_table_most {
    uint32_t n_threads, n_nodes, n_chains, n_groups;
    uint32_t n_processes; /* that have blocks */
    /* Was a block of the stack born in the process? NULL: that does not matter. */
    bool (*has_stack)(const void *context, uint32_t process, uint32_t node);
    const void *context;
    uint32_t process;
};

/* Does the block refer to nothing else? */
bool live_table_is_within(const struct live_block *block, const struct live_table_most *most);

/* Into the bytes or from them, into an empty table (checkpoint_io.h): without the places that are free. */
void live_table_visit(struct live_table *table, const struct live_table_most *most,
                      struct checkpoint_io *io);

#endif
