/* SPDX-License-Identifier: MIT */
/*
 * pairing: from events to allocations: which free ends which block, which blocks form a chain.
 *
 * Model:   blocks are found by (process, address). Each ALLOC and REALLOC_END that gave a block is
 *          one allocation, numbered from 1 in the order of events. What happens to it is told to a
 *          sink at once: born, ended, and at the end of the recording, left over.
 *          A chain is made when its first block is reallocated and told when its last one ends.
 *
 * What the log gets wrong or lacks
 *   unseen end  a block is born where another one is live: that one ended unseen, at that instant
 *               at the latest.
 *   unknown     a free or realloc of an address where nothing is live. In a fork child it is an
 *               inherited block, in a process that was not traced all the time, or whose operator new is
 *               not seen, an untracked one.
 *   inversion   the end of a block and a birth at its address, made by different threads, stamped
 *               in the wrong order by clocks that differ by PAIRING_INVERSION_NS at most. It looks
 *               like an unknown free with a birth behind it, or like an unseen end with a free
 *               behind it; both also come about when the log simply lacks an event. So an inversion
 *               is assumed only where the log can lack none (PA-6, PA-7).
 * Invariants
 *   PA-1 Ids are dense, in order of birth; every id that was born is ended or left over once.
 *   PA-2 Of two blocks at one address of a process the first has ended when the second is born.
 *   PA-3 A block ended by realloc has the id that its successor names as realloc_from_id.
 *   PA-4 An end with an intervening count was made by the thread that allocated the block: not by the next one of its number.
 *   PA-5 Memory: the live tables, 48 bytes per chain with a live block, two counters per thread.
 *   PA-6 An unknown end belongs to the birth behind it only in a process whose births are all in
 *        the log: not forked, no untracked blocks, nothing lost, and no unknown end so far that
 *        no birth explained. Elsewhere the block stays live until an end of its own.
 *   PA-7 An unseen end is explained by the end behind it only in a process whose ends are all in
 *        the log: nothing lost, and no unseen end so far that nothing explained. Elsewhere that end
 *        is the one of the block that lives there now.
 *   PA-8 Two events of one thread are never taken for an inversion.
 *   PA-9 No id is given twice: after LIVE_BLOCK_MOST_ID, which a million allocations a second take two years for, a birth is refused with an error.
 * Threads: none.
 * Failure: memory, or what a function of the sink returned.
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
    PAIRING_UNSEEN = 3, /* ended, but the log does not say how; the time is the latest possible */
    PAIRING_EXEC = 4,   /* live when the process image was replaced */
};

/* What a block born by realloc of another one has beside the block itself. */
struct pairing_link {
    uint64_t chain_id; /* allocation_id of the chain's first block */
    uint64_t chain_position;
    uint64_t realloc_from_id;
    uint64_t copied_bytes; /* min(old, new) when the address changed, else 0 */
};

struct pairing_end {
    uint64_t time_ns;
    uint64_t intervening; /* PAIRING_UNKNOWN unless freed by free() in its own thread (PA-4) */
    uint32_t thread;      /* 0: not known */
    uint32_t node;        /* 0: not known */
    uint32_t group;       /* that the thread was in; of an end that nobody made, block_group */
    uint32_t block_group; /* that the block was charged to */
    enum pairing_ended_by ended_by;
};

/* Two or more blocks, told with the end of the last one. */
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
    uint32_t first_node, last_node;
};

/* A block that is charged to another group from now on. */
struct pairing_move {
    uint64_t time_ns;
    uint32_t from_group, group;
};

/* Blocks are those of the live table: valid during the call. Groups are numbers of definitions. Each
 * returns 0 or an error code. */
struct pairing_sink {
    void *context;
    /* link is NULL for a block that no realloc of a known block made. */
    int (*allocated)(void *context, uint32_t process, const struct live_block *block,
                     uint32_t group, const struct pairing_link *link, struct error *err);
    int (*moved)(void *context, uint32_t process, const struct live_block *block,
                 const struct pairing_move *move, struct error *err);
    /* end->time_ns never decreases within a process. */
    int (*ended)(void *context, uint32_t process, const struct live_block *block,
                 const struct pairing_end *end, struct error *err);
    /* A block told as ended unseen was freed after all: end says when it was told and by whom. */
    int (*explained)(void *context, uint32_t process, const struct live_block *block,
                     const struct pairing_end *end, struct error *err);
    int (*chain_ended)(void *context, const struct pairing_chain *chain, struct error *err);
    /* At the end of the recording; ended_by is PAIRING_LEAKED or PAIRING_EXEC, chain_node the stack
     * of the first block of its chain (its own without one). */
    int (*left)(void *context, uint32_t process, const struct live_block *block, uint32_t group,
                enum pairing_ended_by ended_by, uint32_t chain_node, struct error *err);
    /* Many of them at once: those of `places` that pairing_is_single, all leaked and the root's. What the next call is about mostly lies behind them.
     * *ret_n_others: places that hold a block that is not. NULL: left is told of these, too. */
    int (*left_run)(void *context, uint32_t process, const struct live_block *places,
                    size_t n_places, size_t *ret_n_others, struct error *err);
};

/* A block, and of no chain. */
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
    uint64_t unknown_moves; /* of what is not live, or not recorded */
};

struct pairing_process {
    bool is_forked;            /* unknown blocks are inherited ones */
    bool has_untracked_blocks; /* unknown blocks are those: traced late, not always, or not all */
    bool has_lost_events;      /* dropped, or in a part of the log that cannot be read */
    bool
        is_untraced; /* now: a block that is resized and unknown was not recorded, and is not from here on */
    bool ended_in_exec;
};

struct pairing;

/* Ids of processes and threads are 1..n. The sink is copied. */
int pairing_new(uint32_t n_processes, uint32_t n_threads, const struct pairing_sink *sink,
                struct pairing **ret, struct error *err);

/* NULL is fine. */
void pairing_free(struct pairing *pairing);

/* From now on pairing_finish gives no memory back: the process is about to end. */
void pairing_keep_memory(struct pairing *pairing);

/* May be changed until pairing_finish, which reads ended_in_exec. Valid as long as the pairing. */
struct pairing_process *pairing_process_get(struct pairing *pairing, uint32_t process);

/* Takes ALLOC, FREE, REALLOC_*, MOVE, CULLED_BIRTHS, NEXT_OWNER and LOST; other kinds mean nothing to it. */
int pairing_event(struct pairing *pairing, const struct event *event, struct error *err);

/* The table of the process, for seats of its addresses. Valid as long as the pairing. */
struct live_table *pairing_live(struct pairing *pairing, uint32_t process);

/* The cases that nearly all events are, for whoever does without the sink: a birth where nothing is live, the end of a block of no chain by free; of
 * no group, while nothing waits for its partner. The seat is one of the event's address, in the table of its process. NULL: nothing was done, it is for
 * pairing_event. Else what the sink would be told, and behind an end its block is to be given to live_table_remove_prefetch_slot. */
const struct live_block *pairing_plain_allocation(
    struct pairing *pairing, const struct event *event,
    const struct live_table_prefetch_slot *prefetch_slot);
const struct live_block *pairing_plain_end(const struct pairing *pairing, const struct event *event,
                                           struct live_table_prefetch_slot *prefetch_slot,
                                           uint64_t *ret_intervening);

/* The end of that block. */
static inline struct pairing_end pairing_end_of_free(const struct event *event,
                                                     uint64_t intervening)
{
    return (struct pairing_end){
        .time_ns = event->time_ns,
        .intervening = intervening,
        .thread = event->thread,
        .node = event->node,
        .group = event->group,
        .ended_by = PAIRING_FREED,
    };
}

/* The block that is live at the address now, or NULL; valid until the next event. */
const struct live_block *pairing_find(struct pairing *pairing, uint32_t process, uint64_t address);

/* All that are live, in no order: *cursor starts at 0; NULL at the end. */
const struct live_block *pairing_next_live(const struct pairing *pairing, uint32_t process,
                                           uint32_t *cursor);

/* Tells the sink what is left and forgets it; afterwards only counts can be asked for. */
int pairing_finish(struct pairing *pairing, struct error *err);

const struct pairing_counts *pairing_counts_get(const struct pairing *pairing);

/* Frees of blocks that were born in the process's parent. */
uint64_t pairing_inherited_frees(const struct pairing *pairing, uint32_t process);

/* Into the bytes or from them, into a new one that has room for as much (checkpoint_io.h). Of the limits those of nodes, groups, stacks and processes are
 * looked at. */
void pairing_visit(struct pairing *pairing, const struct live_table_most *limits,
                   struct checkpoint_io *io);

#endif
