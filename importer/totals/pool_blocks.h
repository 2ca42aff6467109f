/* SPDX-License-Identifier: MIT */
/*
 * pool_blocks: what the program's own allocators gave out, inside blocks of malloc.
 *
 * Model:   a pool is paired as a process is, apart from malloc's blocks: an address may be live in
 *          several pools, and in malloc. The blocks are numbered from 1 and come back, whole, in this order.
 *          Beside them stand malloc's live blocks by address, for where a block lies, and those of
 *          pools, for what ends with the block it lies in. A recording without pools has none of this.
 * Invariants
 *   PB-1 Nothing here counts among malloc's allocations: those totals are the allocator's.
 *   PB-2 A block of a pool ends at the latest when the block of malloc ends that it was born in, but for a
 *        realloc in place, and when another one is born over it.
 *   PB-3 allocated = live + freed of each pool, in blocks and bytes.
 *   PB-4 What a pool took are the blocks of malloc in which it ever gave one out, each once; what realloc makes of one is the same block, of its last size.
 * Threads: none; first all events, then the rows.
 * Failure: memory and I/O.
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
        inside_bytes; /* after pool_blocks_finish: of those that live; of live blocks of the pool that lie in any */
};

struct pool_row {
    struct allocation block;
    uint64_t outer_id; /* allocation_id of the block of malloc that it lies in; 0: in none */
    uint32_t pool;
};

struct pool_blocks;

/* NULL where no program has pools. Temporary files lie beside `target`. */
int pool_blocks_new(const struct definitions *definitions, const struct statistics_room *room,
                    const char *target, struct pool_blocks **ret, struct error *err);
void pool_blocks_free(struct pool_blocks *blocks);

/* Other definitions, which have more pools perhaps: ids says which of them each number is. false: there is no room. */
bool pool_blocks_continue(struct pool_blocks *blocks, const struct definitions *definitions,
                          const uint32_t *ids);

/* After pool_blocks_finish: pools, threads and stacks are called by their ids from now on, which must live until the last row. */
int pool_blocks_renumber(struct pool_blocks *blocks, const struct statistics_ids *ids,
                         struct error *err);

/* EVENT_POOL_*. */
int pool_blocks_event(struct pool_blocks *blocks, const struct event *event, struct error *err);

/* malloc's. */
int pool_blocks_outer_allocated(struct pool_blocks *blocks, uint32_t process,
                                const struct live_block *block, const struct pairing_link *link,
                                struct error *err);
int pool_blocks_outer_ended(struct pool_blocks *blocks, uint32_t process,
                            const struct live_block *block, const struct pairing_end *end,
                            struct error *err);

/* Of a process that is_cut: what its events say. */
void pool_blocks_set_exec(struct pool_blocks *blocks, uint32_t process, bool ended_in_exec);

int pool_blocks_finish(struct pool_blocks *blocks, struct error *err);

/* After that. 1, 0 at the end, negative on failure. */
int pool_blocks_next(struct pool_blocks *blocks, struct pool_row *ret, struct error *err);

/* pool_block_id of the smallest block of a pool that is live at the address now and has room for the bytes;
 * 0: none. */
uint64_t pool_blocks_find(const struct pool_blocks *blocks, uint32_t process, uint64_t address,
                          uint64_t size_bytes, uint64_t *ret_size_bytes);

const struct pool_account *pool_blocks_account(const struct pool_blocks *blocks, uint32_t pool);

/* Ends of what is not live, or was not recorded, and events of pools that the log does not define. */
uint64_t pool_blocks_n_unknown(const struct pool_blocks *blocks);

/* Before the first event: no row is wanted (pool_blocks_next). */
void pool_blocks_leave_rows_out(struct pool_blocks *blocks);

/* Into the bytes or from them, into new ones that have room for as much, without rows (checkpoint_io.h). */
void pool_blocks_visit(struct pool_blocks *blocks, uint32_t n_processes, uint32_t n_groups,
                       struct checkpoint_io *io);

/* A block of malloc that lives: after pool_blocks_visit, or where pools come late. ERROR_NOMEM or 0. */
int pool_blocks_put_outer(struct pool_blocks *blocks, uint32_t process,
                          const struct live_block *block, struct error *err);

/* There was none so far; pool_blocks_continue comes next. */
void pool_blocks_begin_late(struct pool_blocks *blocks);

#endif
