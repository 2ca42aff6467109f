/* SPDX-License-Identifier: MIT */
/*
 * pool_blocks: blocks of the program's own allocators (pools), which lie inside malloc blocks.
 *
 * Each pool is paired like a process, separate from malloc: an address may be live in several pools
 * and in malloc. Blocks are numbered from 1 and returned in this order, whole. Two address sets
 * hold the live malloc blocks, to find the enclosing block, and the live pool blocks, to find those
 * that end with it. A recording without pools has no struct pool_blocks.
 *
 * Invariants
 *   PB-1 Pool blocks never count among malloc's allocations.
 *   PB-2 A pool block ends at the latest when its enclosing malloc block ends (except by a realloc
 *        in place), or when another pool block is allocated over it.
 *   PB-3 allocated = live + freed of each pool, in blocks and bytes.
 *   PB-4 A pool has taken the malloc blocks in which it ever allocated, each once. realloc makes no
 *        new one: it is the same block with its last size.
 *
 * Threads: one at a time; first all events, then the rows.
 * Errors: memory and I/O.
 */
#ifndef MTRACE_IMPORTER_POOL_BLOCKS_H
#define MTRACE_IMPORTER_POOL_BLOCKS_H

#include "importer/model/definitions.h"
#include "importer/model/event.h"
#include "importer/pairing/lifetimes.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/stable_numbers.h"
#include "lib/base/error.h"

struct pool_account {
    uint64_t allocated_blocks, allocated_bytes;
    uint64_t freed_blocks, freed_bytes;
    uint64_t live_blocks, live_bytes; /* at the end: leaked, or lost in an exec */
    uint64_t peak_bytes, peak_ns;
    uint64_t changed_ns;
    uint64_t taken_blocks, taken_bytes; /* PB-4 */
    uint64_t held_bytes,
        inside_bytes; /* live taken blocks; live pool bytes in them; after pool_blocks_finish */
};

struct pool_row {
    struct allocation block;
    uint64_t outer_id; /* allocation_id of the enclosing malloc block; 0: none */
    uint32_t pool;
};

struct pool_blocks;

/* *ret is NULL if no program has pools. Temporary files are created next to `target`. */
int pool_blocks_new(const struct definitions *definitions, const struct statistics_room *room,
                    const char *target, struct pool_blocks **ret, struct error *err);
void pool_blocks_free(struct pool_blocks *blocks);

/* Continues with new definitions, which may have more pools; ids maps pool numbers to their ids.
 * false: the capacity is too small, or earlier events were of an undefined pool. */
bool pool_blocks_continue(struct pool_blocks *blocks, const struct definitions *definitions,
                          const uint32_t *ids);

/* Replaces the numbers of pools, threads and stacks by their ids. After pool_blocks_finish; ids
 * must live until the last row. */
int pool_blocks_renumber(struct pool_blocks *blocks, const struct statistics_ids *ids,
                         struct error *err);

/* EVENT_POOL_*. */
int pool_blocks_event(struct pool_blocks *blocks, const struct event *event, struct error *err);

/* Reports an allocation or free of malloc. */
int pool_blocks_outer_allocated(struct pool_blocks *blocks, uint32_t process,
                                const struct live_block *block, const struct pairing_link *link,
                                struct error *err);
int pool_blocks_outer_ended(struct pool_blocks *blocks, uint32_t process,
                            const struct live_block *block, const struct pairing_end *end,
                            struct error *err);

/* Sets whether a process with is_cut ended in an exec, according to its events. */
void pool_blocks_set_exec(struct pool_blocks *blocks, uint32_t process, bool ended_in_exec);

int pool_blocks_finish(struct pool_blocks *blocks, struct error *err);

/* The next row, after pool_blocks_finish. Returns 1, 0 at the end, negative on failure. */
int pool_blocks_next(struct pool_blocks *blocks, struct pool_row *ret, struct error *err);

/* pool_block_id of the smallest pool block that is live at the address and has at least size_bytes;
 * 0: none. */
uint64_t pool_blocks_find(const struct pool_blocks *blocks, uint32_t process, uint64_t address,
                          uint64_t size_bytes, uint64_t *ret_size_bytes);

const struct pool_account *pool_blocks_account(const struct pool_blocks *blocks, uint32_t pool);

/* Number of frees of unknown blocks and of events of undefined pools. */
uint64_t pool_blocks_n_unknown(const struct pool_blocks *blocks);

/* No rows are needed (pool_blocks_next). Before the first event. */
void pool_blocks_leave_rows_out(struct pool_blocks *blocks);

#endif
