/* SPDX-License-Identifier: MIT */
/*
 * pairing: turns events into allocations: which free ends which block, and which blocks form a
 * realloc chain.
 *
 * Blocks are found by (process, address). Each ALLOC and each successful REALLOC_END is one
 * allocation, numbered from 1 in the order of events. A sink receives what happens to it
 * immediately: allocated, ended, and at the end of the recording, left. A chain is created when its
 * first block is reallocated, and reported when its last block ends.
 *
 * Anomalies in the log
 *   missed free A block is allocated at the address of a live one. The free of the older block is
 *               missing.
 *   unknown     A free or realloc of an address without a live block. In a fork child the block is
 *               inherited. In a process that was not always traced, or whose operator new is not
 *               seen, it is untracked.
 *   inversion   The end of a block and an allocation at its address, by different threads, have
 *               times in the wrong order: a stamp may be early by up to PAIRING_INVERSION_NS. It
 *               looks like an unknown free before an allocation, or a missed free before a free. A
 *               missing event looks the same, so an inversion is assumed only where no event can be
 *               missing (PA-6, PA-7).
 *
 * Invariants
 *   PA-1 Ids are dense, in order of allocation; every id is reported as ended or left exactly once.
 *   PA-2 Of two blocks at one address of a process, the first has ended when the second is
 *        allocated.
 *   PA-3 A block ended by realloc has the id that its successor names as realloc_from_id.
 *   PA-4 An end with an intervening count was made by the thread that allocated the block, not by a
 *        later thread with the same number.
 *   PA-5 Memory: the live tables, 48 bytes per chain with a live block, two counters per thread.
 *   PA-6 An unknown end belongs to the next allocation only in a process whose log has all
 *        allocations: not forked, no untracked blocks, nothing lost, no unexplained unknown end so
 *        far. Elsewhere the block stays live until an end of its own.
 *   PA-7 A missed free is explained by the next end only in a process whose log has all ends:
 *        nothing lost, no unexplained missed free so far. Elsewhere that end belongs to the block
 *        that is live there.
 *   PA-8 Two events of one thread are never taken for an inversion.
 *   PA-9 No id is used twice: after LIVE_BLOCK_MAX_ID (two years of a million allocations a
 *        second) an allocation is an error.
 *
 * Threads: one at a time.
 * Errors: memory, or those of the sink.
 */
#ifndef MTRACE_IMPORTER_PAIRING_H
#define MTRACE_IMPORTER_PAIRING_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/event.h"
#include "importer/pairing/live_table.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAIRING_INVERSION_NS UINT64_C(10000)
#define PAIRING_UNKNOWN      UINT64_MAX

/* allocation_rows.ended_by */
enum pairing_ended_by {
    PAIRING_LEAKED = 0,
    PAIRING_FREED = 1,
    PAIRING_REALLOCATED = 2,
    PAIRING_MISSED_FREE = 3, /* ended, but not in the log; the time is the latest possible */
    PAIRING_EXEC = 4,        /* live when the process image was replaced */
};

/* What a block allocated by realloc of another one has in addition. */
struct pairing_link {
    uint64_t chain_id; /* allocation_id of the chain's first block */
    uint64_t chain_position;
    uint64_t realloc_from_id;
    uint64_t copied_bytes; /* min(old, new) if they were copied to another address, else 0 */
};

struct pairing_end {
    uint64_t time_ns;
    uint64_t intervening; /* PAIRING_UNKNOWN unless freed by free() in its own thread (PA-4) */
    uint32_t thread;      /* 0: not known */
    uint32_t backtrace;   /* 0: not known */
    uint32_t group;       /* group of the thread; if no thread is known, block_group */
    uint32_t block_group; /* group of the block */
    enum pairing_ended_by ended_by;
};

/* A chain of two or more blocks, reported with the end of the last one. */
struct pairing_chain {
    uint64_t chain_id;
    uint64_t last_allocation_id;
    uint64_t length;
    uint64_t first_size, last_size;
    uint64_t start_ns;
    uint64_t end_ns; /* PAIRING_UNKNOWN: leaked, or lost at exec */
    uint64_t copied_bytes;
    uint64_t moves;
    uint32_t process;
    uint32_t first_backtrace, last_backtrace;
};

/* A block that moves to another group. */
struct pairing_move {
    uint64_t time_ns;
    uint32_t from_group, group;
};

/* A free or realloc without a block. */
struct pairing_unmatched {
    uint64_t time_ns;
    uint64_t address;
    uint32_t process, thread;
    uint32_t backtrace; /* 0: not known */
    bool is_realloc;
};

/* Receives what happens to blocks. They are in the live table, and valid during the call. Groups
 * are numbers of definitions. Each function returns 0 or an error code. */
struct pairing_sink {
    void *context;
    /* link is NULL unless a realloc of a known block made the block. */
    int (*allocated)(void *context, uint32_t process, const struct live_block *block,
                     uint32_t group, const struct pairing_link *link, struct error *err);
    int (*moved)(void *context, uint32_t process, const struct live_block *block,
                 const struct pairing_move *move, struct error *err);
    /* end->time_ns never decreases within a process. */
    int (*ended)(void *context, uint32_t process, const struct live_block *block,
                 const struct pairing_end *end, struct error *err);
    /* A block reported as ended unseen was freed after all; end describes the free. */
    int (*explained)(void *context, uint32_t process, const struct live_block *block,
                     const struct pairing_end *end, struct error *err);
    int (*chain_ended)(void *context, const struct pairing_chain *chain, struct error *err);
    /* A free or realloc of an address without a live block, where every block should be known:
     * counted in unknown_frees or unknown_reallocs. Reported up to PAIRING_INVERSION_NS late. */
    int (*unmatched)(void *context, const struct pairing_unmatched *unmatched, struct error *err);
    /* At the end of the recording. ended_by is PAIRING_LEAKED or PAIRING_EXEC; chain_backtrace is
     * the stack of the first block of the chain (its own without a chain). */
    int (*left)(void *context, uint32_t process, const struct live_block *block, uint32_t group,
                enum pairing_ended_by ended_by, uint32_t chain_backtrace, struct error *err);
    /* Batch of `left`: the blocks of `places` for which pairing_is_single holds, all leaked and
     * charged to the root. The next call mostly continues after them. *ret_n_others: number of
     * other blocks in `places`. NULL: `left` is called for all. */
    int (*live_at_end_batch)(void *context, uint32_t process, const struct live_block *places,
                             size_t n_places, size_t *ret_n_others, struct error *err);
};

/* The place holds a block, and it is in no chain. */
static inline bool pairing_is_single(const struct live_block *place)
{
    return place->address != 0 && place->chain == 0;
}

struct pairing_counts {
    uint64_t allocations;
    uint64_t unknown_frees;
    uint64_t unknown_reallocs;
    uint64_t untracked_frees; /* unknown, in a process that was not traced all the time */
    uint64_t double_allocations;
    uint64_t clock_inversions;
    uint64_t unknown_moves; /* of blocks that are not live or not recorded */
};

struct pairing_process {
    bool is_forked;            /* unknown blocks are inherited ones */
    bool has_untracked_blocks; /* unknown blocks are untracked: traced late, at times, or in part */
    bool has_lost_events;      /* dropped, or in a part of the log that cannot be read */
    bool is_untraced;          /* currently: reallocs of unknown blocks are not recorded */
    bool ended_in_exec;
};

struct pairing;

/* Ids of processes and threads are 1..n. The sink is copied. */
int pairing_new(uint32_t n_processes, uint32_t n_threads, const struct pairing_sink *sink,
                struct pairing **ret, struct error *err);

/* NULL is fine. */
void pairing_free(struct pairing *pairing);

/* The process is about to exit: pairing_finish frees no memory. */
void pairing_keep_memory(struct pairing *pairing);

/* May be changed until pairing_finish, which reads ended_in_exec. Valid as long as the pairing. */
struct pairing_process *pairing_process_get(struct pairing *pairing, uint32_t process);

/* Handles ALLOC, FREE, REALLOC_*, MOVE, ELIDED_ALLOCATIONS, NEXT_OWNER and LOST; ignores other
 * kinds. */
int pairing_event(struct pairing *pairing, const struct event *event, struct error *err);

/* The live table of the process, for prefetch slots. Valid as long as the pairing. */
struct live_table *pairing_live(struct pairing *pairing, uint32_t process);

/* The live block at the address, or NULL; valid until the next event. */
const struct live_block *pairing_find(struct pairing *pairing, uint32_t process, uint64_t address);

/* Walks all live blocks in no order: *cursor starts at 0; NULL at the end. */
const struct live_block *pairing_next_live(const struct pairing *pairing, uint32_t process,
                                           uint32_t *cursor);

/* Reports the blocks that are left to the sink and forgets them; afterwards only counts are
 * available. */
int pairing_finish(struct pairing *pairing, struct error *err);

const struct pairing_counts *pairing_counts_get(const struct pairing *pairing);

/* Number of frees of blocks that the process's parent allocated. */
uint64_t pairing_inherited_frees(const struct pairing *pairing, uint32_t process);

/* Saves the pairing, or loads it into a new one of at least the same capacity (checkpoint_io.h). */
void pairing_visit(struct pairing *pairing, struct checkpoint_io *io);

#endif
