/* SPDX-License-Identifier: MIT */
/*
 * totals: sums per process, stack, thread and class that pass 1 counts from allocations and frees.
 *
 * A process has its current and peak live sums, a struct stack_totals for each stack that
 * allocates, and histograms. Live sums are compared with the peak only when time advances, after
 * all events of one timestamp: so every peak equals a sum of "live at T" that can be computed from
 * rows.
 *
 * A rising peak does not touch the stacks. A stack notes the time of its last change. Before its
 * next change, or at the end, it checks whether the process peaked since: then its current live sum
 * is its sum at that peak.
 *
 * Invariants
 *   TO-1 Per process: allocated = live + freed, in blocks and bytes, for each stack and in total.
 *   TO-2 peak_ns is the first time at which live_bytes was highest.
 *   TO-3 After totals_finish the peaks of the stacks of a process add up to its own peak.
 *   TO-4 Memory: 280 bytes per process and stack that allocates, 4 per stack with a nearby id, 32
 *        per pair, 88 per thread.
 *   TO-5 If blocks are samples, all sums except those of reallocs and chains are estimates
 *        (sample_weight.h), and no block counts as temporary.
 *   TO-6 If pairs are bounded, each stack keeps its first `max_pairs` freeing stacks, and each
 *        thread its first freeing threads. All others are counted under id 0, so sums stay
 *        complete.
 *
 * Threads: one at a time.
 * Errors: memory.
 */
#ifndef MTRACE_IMPORTER_TOTALS_H
#define MTRACE_IMPORTER_TOTALS_H

#include "importer/log/checkpoint_io.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/allocation_parts.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/totals/pair_totals.h"
#include "lib/totals/sample_weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOTALS_NEVER UINT64_MAX

/* Variances of estimates: the sum of what each sampled block adds. Those of live blocks are
 * differences and may be slightly off. */
struct sums_variance {
    double blocks, bytes;
};

struct stack_variances {
    struct sums_variance allocated, live, peak, leaked;
};

/* One stack in one process: becomes a row of backtrace_totals. */
struct stack_totals {
    uint64_t live_bytes, live_blocks;
    uint64_t changed_epoch; /* time of the last change of live_*, + 1; 0: none */
    uint64_t own_peak_bytes, own_peak_ns;
    uint64_t peak_bytes, peak_blocks; /* at the peak of the process; final after totals_finish */
    uint64_t allocated_bytes, allocated_blocks;
    uint64_t first_ns, last_ns;
    uint64_t min_size, max_size;
    uint64_t slack_bytes;
    double lifetime_sum_ns; /* a double: 10^9 blocks of 10 s overflow 63 bits */
    uint64_t temporary_bytes, temporary_blocks;
    uint64_t chains_started;
    struct stack_variances *variances; /* NULL: all blocks were recorded */
    struct pair_totals_run freed_at;   /* of free_sites */
    uint32_t backtrace;
    uint32_t n_free_sites; /* in free_sites, 0 not among them */
    /* Above: needed for each allocation or free. Below: rarely needed. */
    uint64_t chains_leaked;
    uint64_t realloc_count, realloc_copied_bytes;
    uint64_t leaked_blocks, leaked_bytes;
    uint64_t leaked_first_ns, leaked_last_ns; /* TOTALS_NEVER: nothing leaked */
    uint64_t elided_bytes, elided_blocks;
    uint64_t snapshot_bytes, snapshot_blocks; /* in the last snapshot; snapshots.c */
};

/* Leaked blocks of one stack while they are counted. Small, because blocks arrive in no order of
 * stacks. */
struct stack_left {
    uint64_t blocks, bytes;
    uint64_t first_ns, last_ns; /* invalid if there are 0 blocks */
    uint64_t chains;
};

struct thread_totals {
    uint64_t allocated_bytes, allocated_blocks;
    uint64_t freed_bytes, freed_blocks; /* freed by this thread, whichever thread allocated them */
    uint64_t leaked_bytes, leaked_blocks;
    uint64_t live_bytes, peak_bytes; /* of what this thread allocated */
    uint64_t changed_ns;
    uint64_t elided_live_bytes;      /* upper bound of those live at one time */
    struct pair_totals_run freed_by; /* of flows */
    uint32_t n_flows;                /* in flows, 0 not among them */
};

enum {
    TOTALS_BACKTRACES_PER_PAGE = 1024,
};

struct size_class_totals {
    uint64_t allocated_blocks, allocated_bytes, leaked_blocks, leaked_bytes, temporary_blocks,
        slack_bytes;
};

struct lifetime_class_totals {
    uint64_t blocks, bytes;
};

struct process_totals {
    uint64_t sample_bytes; /* blocks are samples; 0: all blocks are recorded */
    uint64_t now_ns;       /* time of the last event; TOTALS_NEVER: none */
    uint64_t live_bytes, live_blocks;
    uint64_t peak_bytes, peak_blocks;
    uint64_t peak_ns;    /* TOTALS_NEVER: nothing was ever live */
    uint64_t peak_epoch; /* peak_ns + 1; 0: none. Later changes have a higher changed_epoch */
    struct sums_variance live_variance, peak_variance;
    uint64_t n_allocations, n_ends;
    struct stack_totals **pieces; /* of TOTALS_STACKS_PER_PIECE */
    uint32_t **pages; /* backtrace / TOTALS_BACKTRACES_PER_PAGE -> stack number + 1 per backtrace */
    uint32_t n_stacks;
    size_t n_pieces, max_pieces;
    struct stack_totals *
        *changed; /* changed since the last snapshot, each once, in order; capacity for all */
    size_t n_changed, max_changed;
    uint64_t reported_epoch; /* of the last snapshot, + 1; 0 before the first; snapshots.c */
    struct stack_left *left; /* by stack number; NULL: none yet, or flushed */
    struct allocation_parts allocations; /* not yet in leaked_allocations */
    struct size_class_totals *sizes;     /* n_sizes: the largest class used, + 1 */
    size_t n_sizes;
    struct lifetime_class_totals *lifetimes; /* LIFETIME_CLASSES */
};

struct totals {
    struct process_totals *processes; /* by id */
    struct thread_totals *threads;    /* by id */
    uint32_t n_processes, n_threads, n_backtraces;
    uint32_t max_pairs;                                   /* TO-6; 0: any number */
    uint64_t n_unreported_free_sites, n_unreported_flows; /* blocks of 0 */
    struct hash_map
        free_sites;        /* pair_totals_entry; from: stack, to: freeing stack (free() only) */
    struct hash_map flows; /* pair_totals_entry; from: allocating thread, to: freeing thread */
    struct hash_map leaked_allocations; /* pair_totals_entry; from: stack, to: time bucket */
};

int totals_new(uint32_t n_processes, uint32_t n_threads, uint32_t n_backtraces, struct totals **ret,
               struct error *err);

/* NULL is fine. */
void totals_free(struct totals *totals);

/* Call with the time of each event before it is counted. If time advances, compares the live sums
 * with the peak and returns true. */
bool totals_advance(struct totals *totals, uint32_t process, uint64_t time_ns);

/* The number of blocks and bytes that the block stands for (1 and its size without sampling). */
static inline struct sample_weight totals_weight(const struct totals *totals, uint32_t process,
                                                 const struct live_block *block)
{
    return sample_weight_of(totals->processes[process].sample_bytes, block->size,
                            live_block_salt(block));
}

/* A block as it is counted, unpacked from the bit fields of the live table. */
struct totals_block {
    uint64_t allocated_ns;
    uint64_t size;
    uint64_t slack; /* 0: none, or not known */
    struct sample_weight weight;
    uint32_t backtrace, thread;
};

/* Copies field by field: copying the whole struct right after its parts were stored would stall. */
static inline void totals_block_read(const struct totals *totals, uint32_t process,
                                     const struct live_block *block, struct totals_block *ret)
{
    uint64_t sample_bytes = totals->processes[process].sample_bytes;

    ret->allocated_ns = block->alloc_ns;
    ret->size = block->size;
    ret->slack = live_block_known_slack(block);
    ret->backtrace = block->backtrace;
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

/* A block that was counted as freed for unknown reasons was freed by this event
 * (pairing_sink.explained). */
int totals_explained(struct totals *totals, uint32_t process, const struct totals_block *block,
                     const struct pairing_end *end, struct error *err);
/* Counts a block that is live at the end. After totals_finish; stacks include it after
 * totals_flush. */
int totals_live_at_end(struct totals *totals, uint32_t process, const struct live_block *block,
                       enum pairing_ended_by ended_by, uint32_t chain_backtrace, struct error *err);

/* The same for all blocks of `places` for which pairing_is_single holds; all are leaked. Not for
 * samples. *ret_n_others: number of blocks that were skipped. */
int totals_live_at_end_batch(struct totals *totals, uint32_t process,
                             const struct live_block *places, size_t n_places, size_t *ret_n_others,
                             struct error *err);

/* Adds leaked blocks of a stack that were allocated in that time bucket to leaked_allocations,
 * which is complete after totals_flush. */
int totals_leaked_allocation(struct totals *totals, uint32_t process, uint32_t backtrace,
                             uint32_t part, const struct sample_weight *weight, struct error *err);

/* Counts an EVENT_ELIDED* event. free_backtrace 0: not known. */
int totals_elided(struct totals *totals, const struct event *event, uint32_t free_backtrace,
                  struct error *err);

/* Upper bound of elided bytes live at one time: peaks of stacks and of programs with threads may be
 * too low by so much. */
uint64_t totals_elided_live_bytes(const struct totals *totals);
uint64_t totals_n_elided(const struct totals *totals); /* blocks */

/* Compares with the peak a last time and settles all peaks (TO-3). Before totals_live_at_end. */
void totals_finish(struct totals *totals);

/* Bounds pairs (TO-6). Before the first event. */
void totals_bound(struct totals *totals, size_t max_pairs);

/* Completes stacks, free_sites, flows and leaked_allocations. After the last totals_live_at_end and
 * totals_leaked_allocation. */
int totals_flush(struct totals *totals, struct error *err);

/* number < n_stacks, in order of the first allocation. */
struct stack_totals *totals_stack(const struct process_totals *process, uint32_t number);

uint32_t totals_stack_number(const struct process_totals *process, uint32_t backtrace);

/* Fills process->changed with the stacks whose changed_epoch is higher than reported_epoch, and
 * keeps it so. */
void totals_list_changed(struct process_totals *process, uint64_t reported_epoch);

/* Saves the totals, or loads them into new ones of at least the same capacity (checkpoint_io.h).
 * Before totals_finish. */
void totals_visit(struct totals *totals, struct checkpoint_io *io);

/* ---- for batches of allocations and frees ---- */

enum {
    TOTALS_STACKS_PER_PIECE = 16
};

/* NULL: the stack has not allocated in the process. */
static inline struct stack_totals *totals_stack_find(const struct process_totals *process,
                                                     uint32_t backtrace)
{
    if (!process->pages)
        return NULL;
    const uint32_t *page = process->pages[backtrace / TOTALS_BACKTRACES_PER_PAGE];
    uint32_t number = page ? page[backtrace % TOTALS_BACKTRACES_PER_PAGE] : 0;
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

#endif
