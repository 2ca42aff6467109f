/* SPDX-License-Identifier: MIT */
/*
 * totals: what pass 1 counts per process, stack, thread and class while blocks are born and end.
 *
 * Model:   a process has live sums now and at its peak, a struct stack_totals for each stack that
 *          allocates, and histograms. An instant is all events of one time_ns of a process: sums
 * are compared with a peak when time goes on, never in the middle of an instant, so that every peak
 * is a sum of "live at T" that can be computed from rows, too.
 *
 *          Live-at-the-peak of a stack costs nothing when the peak rises: a stack notes the instant
 *          of its last change, and before the next change (or at the end) looks whether a peak came
 *          at or after it. If so, what is live until now is what was live at that peak.
 * Invariants
 *   TO-1 Per process: allocated = live + ended, in blocks and bytes, for each stack and in sum.
 *   TO-2 peak_ns is the first instant at which live_bytes was highest.
 *   TO-3 After totals_finish the peaks of the stacks of a process add up to those of the process.
 *   TO-4 Memory: 280 bytes per process and stack that allocates, 4 per stack of its neighbourhood,
 *        32 per pair of tallies, 88 per thread.
 *   TO-5 Where blocks are samples, all sums but those of reallocs and chains are of what they stand for (sample_weight.h), and no block
 *        is known to be temporary.
 *   TO-6 Where pairs are bounded, the first `most_pairs` stacks that free the blocks of a stack are told apart, and so are the first threads that end those of
 *        a thread; all others are one, 0. Sums are those of all.
 * Threads: none.
 * Failure: memory.
 */
#ifndef MTRACE_IMPORTER_TOTALS_H
#define MTRACE_IMPORTER_TOTALS_H

#include "importer/log/checkpoint_io.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/allocation_parts.h"
#include "importer/totals/pair_totals.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/totals/sample_weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOTALS_NEVER UINT64_MAX

/* How sure estimates are: what each drawn block adds to their variance. Those of what is live are sums of what came and went, and
 * may be a little off. */
struct sums_variance {
    double blocks, bytes;
};

struct stack_variances {
    struct sums_variance allocated, live, peak, leaked;
};

/* Of one stack in one process; the row of backtrace_totals in the making. */
struct stack_totals {
    uint64_t live_bytes, live_blocks;
    uint64_t changed_epoch; /* instant of the last change of live_*, + 1; 0: none */
    uint64_t own_peak_bytes, own_peak_ns;
    uint64_t peak_bytes, peak_blocks; /* at the peak of the process; final after totals_finish */
    uint64_t allocated_bytes, allocated_blocks;
    uint64_t first_ns, last_ns;
    uint64_t min_size, max_size;
    uint64_t slack_bytes;
    double lifetime_sum_ns; /* 10^9 blocks of 10 s are more than 63 bits hold */
    uint64_t temporary_bytes, temporary_blocks;
    uint64_t chains_started;
    struct stack_variances *variances; /* NULL: all blocks were recorded */
    struct pair_totals_run freed_at;   /* of free_sites */
    uint32_t node;
    uint32_t n_free_sites; /* in free_sites, 0 not among them */
    /* so far each birth or end needs, from here on a few do */
    uint64_t chains_leaked;
    uint64_t realloc_count, realloc_copied_bytes;
    uint64_t leaked_blocks, leaked_bytes;
    uint64_t leaked_first_ns, leaked_last_ns; /* TOTALS_NEVER: nothing leaked */
    uint64_t elided_bytes, elided_blocks;
    uint64_t snapshot_bytes, snapshot_blocks; /* as the last snapshot said; snapshots.c */
};

/* What is left of one stack, while that is counted: close together, as stacks come in no order. */
struct stack_left {
    uint64_t blocks, bytes;
    uint64_t first_ns, last_ns; /* 0 blocks: of nothing */
    uint64_t chains;
};

struct thread_totals {
    uint64_t allocated_bytes, allocated_blocks;
    uint64_t freed_bytes, freed_blocks; /* ended by this thread, whoever allocated them */
    uint64_t leaked_bytes, leaked_blocks;
    uint64_t live_bytes, peak_bytes; /* of what this thread allocated */
    uint64_t changed_ns;
    uint64_t elided_live_bytes;      /* at a time, at most */
    struct pair_totals_run freed_by; /* of flows */
    uint32_t n_flows;                /* in flows, 0 not among them */
};

enum {
    TOTALS_NODES_PER_PAGE = 1024,
};

struct size_class_totals {
    uint64_t allocated_blocks, allocated_bytes, leaked_blocks, leaked_bytes, temporary_blocks,
        slack_bytes;
};

struct lifetime_class_totals {
    uint64_t blocks, bytes;
};

struct process_totals {
    uint64_t sample_bytes; /* blocks are samples and count as what they stand for; 0: all blocks */
    uint64_t
        now_ns; /* the instant that live_* may still change in; TOTALS_NEVER before the first */
    uint64_t live_bytes, live_blocks;
    uint64_t peak_bytes, peak_blocks;
    uint64_t peak_ns; /* TOTALS_NEVER: nothing was ever live */
    uint64_t
        peak_epoch; /* peak_ns + 1, 0 before the first: no change after it while changed_epoch <= peak_epoch */
    struct sums_variance live_variance, peak_variance;
    uint64_t n_allocations, n_ends;
    struct stack_totals **pieces; /* of TOTALS_STACKS_PER_PIECE */
    uint32_t **pages;             /* node / TOTALS_NODES_PER_PAGE -> stack number + 1 per node */
    uint32_t n_stacks;
    size_t n_pieces, max_pieces;
    struct stack_totals **changed; /* after what was told, each once, in that order; room for all */
    size_t n_changed, max_changed;
    uint64_t reported_epoch; /* of the last snapshot, + 1; 0 before the first; snapshots.c */
    struct stack_left *
        left; /* by stack number; NULL: nothing was left so far, or it is in the stacks (totals_flush) */
    struct allocation_parts allocations; /* the same of leaked_allocations */
    struct size_class_totals *sizes;     /* n_sizes: the largest class used, + 1 */
    size_t n_sizes;
    struct lifetime_class_totals *lifetimes; /* LIFETIME_CLASSES */
};

struct totals {
    struct process_totals *processes; /* by id */
    struct thread_totals *threads;    /* by id */
    uint32_t n_processes, n_threads, n_nodes;
    uint32_t most_pairs;                                  /* TO-6; 0: any number */
    uint64_t n_unreported_free_sites, n_unreported_flows; /* blocks of 0 */
    struct hash_map
        free_sites; /* pair_totals_entry; from: stack of birth, to: stack of free; freed by free() only */
    struct hash_map flows; /* pair_totals_entry; from: allocating thread, to: ending thread */
    struct hash_map
        leaked_allocations; /* pair_totals_entry; from: stack of birth, to: part of the process's life */
};

int totals_new(uint32_t n_processes, uint32_t n_threads, uint32_t n_nodes, struct totals **ret,
               struct error *err);

/* NULL is fine. */
void totals_free(struct totals *totals);

/* To be called with the time of each event before it is counted: when that begins a new instant,
 * the one before is compared with the peak. Returns whether it did. */
bool totals_advance(struct totals *totals, uint32_t process, uint64_t time_ns);

/* What the block stands for, itself included. */
static inline struct sample_weight totals_weight(const struct totals *totals, uint32_t process,
                                                 const struct live_block *block)
{
    return sample_weight_of(totals->processes[process].sample_bytes, block->size,
                            live_block_salt(block));
}

/* A block as it is counted, out of the bits of the live table. */
struct totals_block {
    uint64_t allocated_ns;
    uint64_t size;
    uint64_t slack; /* 0: none, or not known */
    struct sample_weight weight;
    uint32_t node, thread;
};

/* Field by field: what is copied as a whole right after it was stored in parts is waited for. */
static inline void totals_block_read(const struct totals *totals, uint32_t process,
                                     const struct live_block *block, struct totals_block *ret)
{
    uint64_t sample_bytes = totals->processes[process].sample_bytes;

    ret->allocated_ns = block->alloc_ns;
    ret->size = block->size;
    ret->slack = live_block_known_slack(block);
    ret->node = block->node;
    ret->thread = block->thread;
    ret->weight.blocks = 1;
    ret->weight.bytes = block->size;
    ret->weight.blocks_variance = ret->weight.bytes_variance = 0;
    if (mtrace_unlikely(sample_bytes != 0))
        ret->weight = sample_weight_estimate(sample_bytes, block->size, live_block_salt(block));
}

int totals_allocated(struct totals *totals, uint32_t process, const struct totals_block *block,
                     const struct pairing_link *link, struct error *err);
int totals_ended(struct totals *totals, uint32_t process, const struct totals_block *block,
                 const struct pairing_end *end, struct error *err);

/* The block was counted as ended already; now it is known by whom. */
int totals_explained(struct totals *totals, uint32_t process, const struct totals_block *block,
                     const struct pairing_end *end, struct error *err);
/* After totals_finish; the stacks know of it after totals_flush. */
int totals_left(struct totals *totals, uint32_t process, const struct live_block *block,
                enum pairing_ended_by ended_by, uint32_t chain_node, struct error *err);

/* The same for the places that pairing_is_single, all leaked; not where blocks are samples. *ret_n_others: those of other blocks. */
int totals_left_run(struct totals *totals, uint32_t process, const struct live_block *places,
                    size_t n_places, size_t *ret_n_others, struct error *err);

/* Into leaked_allocations: blocks that leaked of the stack were born in that part of the process's life. They are there after totals_flush. */
int totals_leaked_allocation(struct totals *totals, uint32_t process, uint32_t node, uint32_t part,
                             const struct sample_weight *weight, struct error *err);

/* EVENT_ELIDED*. free_node 0: not known. */
int totals_elided(struct totals *totals, const struct event *event, uint32_t free_node,
                  struct error *err);

/* Of the blocks that were elided up to so many bytes were live at a time: what peaks of stacks, and of programs with threads, may be too low by. */
uint64_t totals_elided_live_bytes(const struct totals *totals);
uint64_t totals_n_elided(const struct totals *totals); /* blocks */

/* Ends the last instant and settles all peaks (TO-3). Before totals_left. */
void totals_finish(struct totals *totals);

/* Before the first event (TO-6). */
void totals_bound(struct totals *totals, size_t most_pairs);

/* After the last event, totals_left and totals_leaked_allocation included: stacks, free_sites, flows and leaked_allocations are whole. */
int totals_flush(struct totals *totals, struct error *err);

/* number < n_stacks, in order of the first birth. */
struct stack_totals *totals_stack(const struct process_totals *process, uint32_t number);

uint32_t totals_stack_number(const struct process_totals *process, uint32_t node);

/* From now on process->changed are those whose changed_epoch is above. */
void totals_list_changed(struct process_totals *process, uint64_t reported_epoch);

/* Into the bytes or from them, into new ones that have room for as much (checkpoint_io.h); before totals_finish. */
void totals_visit(struct totals *totals, struct checkpoint_io *io);

/* Was a block of the stack born in the process? */
bool totals_has_stack(const struct totals *totals, uint32_t process, uint32_t node);

/* ---- for what counts many births and ends in a row ---- */

enum {
    TOTALS_STACKS_PER_PIECE = 16
};

/* NULL: no block of it was born so far. */
static inline struct stack_totals *totals_stack_find(const struct process_totals *process,
                                                     uint32_t node)
{
    if (!process->pages)
        return NULL;
    const uint32_t *page = process->pages[node / TOTALS_NODES_PER_PAGE];
    uint32_t number = page ? page[node % TOTALS_NODES_PER_PAGE] : 0;
    return number ? &process->pieces[(number - 1) / TOTALS_STACKS_PER_PIECE]
                                    [(number - 1) % TOTALS_STACKS_PER_PIECE]
                  : NULL;
}

static inline void totals_stack_fetch(const struct stack_totals *stack)
{
    __builtin_prefetch(stack, 1);
    __builtin_prefetch((const char *)stack + 64, 1);
    __builtin_prefetch((const char *)stack + 128, 1);
}

static inline void totals_compare_with_peak(struct process_totals *process)
{
    if (process->live_bytes > process->peak_bytes) {
        process->peak_bytes = process->live_bytes;
        process->peak_blocks = process->live_blocks;
        process->peak_variance = process->live_variance;
        process->peak_ns = process->now_ns;
        process->peak_epoch = process->now_ns + 1;
    }
}

/* Brings the peaks of the stack up to date, which changes now. */
static inline void totals_settle(struct process_totals *process, struct stack_totals *stack,
                                 uint64_t now_ns)
{
    if (stack->changed_epoch == now_ns + 1)
        return;
    if (process->peak_epoch >= stack->changed_epoch) {
        stack->peak_bytes = stack->live_bytes;
        stack->peak_blocks = stack->live_blocks;
        if (mtrace_unlikely(stack->variances != NULL))
            stack->variances->peak = stack->variances->live;
    }
    if (stack->live_bytes > stack->own_peak_bytes) {
        stack->own_peak_bytes = stack->live_bytes;
        stack->own_peak_ns = stack->changed_epoch - 1;
    }
    if (stack->changed_epoch <= process->reported_epoch && process->n_changed < process->n_stacks)
        process->changed[process->n_changed++] = stack;
    stack->changed_epoch = now_ns + 1;
}

static inline void totals_settle_thread(struct thread_totals *thread, uint64_t now_ns)
{
    if (thread->changed_ns == now_ns)
        return;
    if (thread->live_bytes > thread->peak_bytes)
        thread->peak_bytes = thread->live_bytes;
    thread->changed_ns = now_ns;
}

/* A block of the stack was freed on the stack `node`, which is not 0. */
int totals_count_free_site(struct totals *totals, uint32_t process, struct stack_totals *stack,
                           uint32_t node, const struct sample_weight *weight, struct error *err);

/* Blocks of the thread `from` were ended by `to`. */
int totals_count_flow(struct totals *totals, uint32_t process, uint32_t from, uint32_t to,
                      const struct sample_weight *weight, struct error *err);

#endif
