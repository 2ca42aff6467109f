/* SPDX-License-Identifier: MIT */
/*
 * statistics: everything that is computed from the events of a recording.
 *
 * Pass 1 takes the events in order, pairs them, counts totals and spools allocations and frees
 * (lifetimes.h). Rows that are already final go to a sink. statistics_finish settles the rest. Pass
 * 2 (statistics_next_row) returns whole allocations in order of id and assigns heaps and pages. The
 * other results are in struct statistics.
 *
 * Invariants
 *   FC-1 Tables of totals can be computed from the rows (tests do).
 *   FC-2 Memory is that of the parts; nothing grows with the number of events.
 *   CT-1 A key has one entry in the totals of realloc chains.
 *   CT-2 No chain is added after chain_totals_sort.
 *   LB-1 The blocks that are live at the end take 56 bytes each.
 *
 * Files: statistics.c creates and finishes, statistics_events.c takes events and samples,
 * statistics_run.c does both for a run of plain events, statistics_blocks.c counts paired blocks,
 * statistics_rows.c is pass 2, statistics_state.c saves and loads. Threads: one at a time. Errors:
 * memory, I/O, or those of the sink.
 */
#ifndef MTRACE_IMPORTER_STATISTICS_H
#define MTRACE_IMPORTER_STATISTICS_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/definitions.h"
#include "importer/model/event.h"
#include "importer/pairing/lifetimes.h"
#include "importer/pairing/live_table.h"
#include "importer/pairing/pairing.h"
#include "importer/totals/group_totals.h"
#include "importer/totals/heap_pages.h"
#include "importer/totals/heap_ranges.h"
#include "importer/totals/moment_blocks.h"
#include "importer/totals/object_walks.h"
#include "importer/totals/phases.h"
#include "importer/totals/pool_blocks.h"
#include "importer/totals/resident_parts.h"
#include "importer/totals/row_sink.h"
#include "importer/totals/stable_numbers.h"
#include "importer/totals/timeline.h"
#include "importer/totals/totals.h"
#include "importer/totals/windows.h"
#include "lib/abi/attr.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct statistics;

/* definitions must live as long as the statistics, or until statistics_continue replaces them. room
 * NULL: as many as are defined. Temporary files are created next to `target`. */
int statistics_new(const struct definitions *definitions, const struct statistics_room *room,
                   const struct row_sink *sink, const char *target, struct statistics **ret,
                   struct error *err);

/* Continues with new definitions after the recording has grown. ids maps numbers in events to ids
 * in them, and is used during the call only. Returns false if earlier results would differ with
 * these definitions, or the capacity is too small: the statistics are then useless. Losses and
 * untracked times count from now on. */
bool statistics_continue(struct statistics *statistics, const struct definitions *definitions,
                         const struct statistics_ids *ids);

/* Keeps the blocks that are live at the peak and the end, so that pages can be counted without
 * rows. Before the first event. */
int statistics_keep_moments(struct statistics *statistics, struct error *err);

/* The process is about to exit: statistics_finish and statistics_free do not free memory. Before
 * statistics_leave_rows_out and statistics_finish. */
void statistics_keep_memory(struct statistics *statistics);

/* Spools no rows to disk; pass 2 is impossible. Before the first event. */
void statistics_leave_rows_out(struct statistics *statistics);

/* Bounds what would grow with the recording, and leaves out phases, pools and objects. Before the
 * first event. */
void statistics_bound(struct statistics *statistics);

enum statistics_bounded {
    STATISTICS_EXTENTS,
    STATISTICS_FREE_SITES, /* blocks whose pairs were omitted */
    STATISTICS_FLOWS,      /* the same */
    STATISTICS_WINDOWS,
    STATISTICS_PHASES, /* of these nothing is kept in a bounded log */
    STATISTICS_WALKS,
    STATISTICS_POOL_BLOCKS,
    STATISTICS_BOUNDED_KINDS
};

/* How many were omitted so far, and the name of the kind. */
uint64_t statistics_n_left_out(const struct statistics *statistics, enum statistics_bounded kind,
                               const char **ret_name);

/* Keeps the blocks that are live at the end for statistics_next_live although other rows are
 * omitted. Before statistics_finish. */
void statistics_keep_leaked(struct statistics *statistics);

/* Replaces the numbers of threads, backtraces and pools by their ids in the definitions. After
 * statistics_finish; ids must live until the last row. */
int statistics_renumber(struct statistics *statistics, const struct statistics_ids *ids,
                        struct error *err);

/* NULL is fine. */
void statistics_free(struct statistics *statistics);

/* ---- pass 1, in this order ---- */

/* Prefetches data for the events after events[0]. A hint. */
void statistics_prefetch(const struct statistics *statistics, const struct event *events,
                         size_t n_events);

int statistics_event(struct statistics *statistics, const struct event *event, struct error *err);

/* Samples that the recorder took; in order of time within a process, together with its events. */
int statistics_memory_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                             uint64_t rss_bytes, uint64_t anonymous_bytes, uint64_t file_bytes,
                             struct error *err);
void statistics_own_sample(struct statistics *statistics, uint32_t process, uint64_t file_bytes,
                           uint64_t private_bytes);
int statistics_heap_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                           uint64_t start, uint64_t end, enum log_heap_kind kind,
                           struct error *err);
void statistics_mapping_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                               uint64_t start, uint64_t end, uint64_t rss_bytes);

/* Private memory without a file; kind: LOG_SAMPLE_PRIVATE and the next two. */
int statistics_private_sample(struct statistics *statistics, uint32_t process, uint64_t time_ns,
                              enum log_sample_kind kind, const struct address_range *range,
                              uint64_t rss_bytes, struct error *err);
void statistics_parts_sample(struct statistics *statistics, uint32_t process, uint64_t stack_bytes,
                             uint64_t shared_bytes, uint64_t file_bytes);

int statistics_finish(struct statistics *statistics, struct error *err);

/* ---- pass 2 ---- */

int statistics_begin_rows(struct statistics *statistics, struct error *err);

/* Adds the kept blocks (statistics_keep_moments) instead of reading rows. *ret_were_skipped is
 * false if they were not kept: nothing happened. */
int statistics_skip_rows(struct statistics *statistics, bool *ret_were_skipped, struct error *err);

/* The next allocation, and the chain that begins with it, or NULL; the chain is valid until the
 * next call. Returns 1, 0 at the end, negative on failure. Read all of them: this also counts
 * pages. */
int statistics_next_row(struct statistics *statistics, struct allocation *ret_allocation,
                        const struct pairing_chain **ret_chain, struct error *err);

int statistics_end_rows(struct statistics *statistics, struct error *err);

/* The next block that is live at the end, in order of id; false at the end. After
 * statistics_skip_rows and statistics_keep_leaked. */
bool statistics_next_live(struct statistics *statistics, struct allocation *ret_allocation);

/* Time of its last event so far; 0: none. */
uint64_t statistics_event_ns(const struct statistics *statistics, uint32_t process);

/* Has the process ended by the end of the imported time? */
bool statistics_has_ended(const struct statistics *statistics, uint32_t process);

uint64_t statistics_n_allocations(const struct statistics *statistics); /* without elided ones */
uint64_t statistics_n_elided(const struct statistics *statistics);
uint64_t statistics_n_events(const struct statistics *statistics);

/* Errors in the log, including repaired ones, for the exit summary. */
uint64_t statistics_n_anomalies(const struct statistics *statistics);

/* Number of blocks allocated where another was live. */
uint64_t statistics_n_missed_frees(const struct statistics *statistics);

/* The capacities given to statistics_new. */
const struct statistics_room *statistics_room(const struct statistics *statistics);

/* Saves the state of pass 1, or loads it into new statistics of the same recording and at least the
 * same capacity (checkpoint_io.h). Before statistics_finish, after statistics_keep_moments and
 * statistics_leave_rows_out. */
void statistics_visit(struct statistics *statistics, struct checkpoint_io *io);

/* ---- for the modules that fill the statistics and write them to tables ---- */

/* Sums of realloc chains by process and first stack. */
struct chain_totals_entry {
    uint32_t process;
    uint32_t first_backtrace;
    uint64_t chains, leaked_chains;
    uint64_t reallocs, moves, copied_bytes;
    uint64_t longest;
    uint64_t first_bytes, last_bytes;
};

/* leaked: its last block was never freed, and not lost in an exec. */
int chain_totals_add(struct hash_map *totals, const struct pairing_chain *chain, bool leaked,
                     struct error *err);

/* Sorts the entries by key. */
void chain_totals_sort(struct hash_map *totals);

/* Saves the sums, or loads them into an empty map (checkpoint_io.h). */
void chain_totals_visit(struct hash_map *totals, struct checkpoint_io *io);

struct leaked_block {
    struct live_block block;
    uint32_t group;
    uint8_t ended_by; /* enum pairing_ended_by */
};

/* The blocks that are live at the end, for their rows when other rows are omitted. The pairing
 * reports them in no order. Zero-initialized: disabled. */
struct leaked_blocks {
    struct leaked_block *list;
    size_t n, capacity;
    size_t n_reported;
    bool is_wanted, is_sorted;
};

int leaked_blocks_add(struct leaked_blocks *blocks, const struct live_block *block, uint32_t group,
                      enum pairing_ended_by ended_by, struct error *err);

/* The next block as an allocation, in order of id, without its earlier chain; false at the end. The
 * first call sorts them. */
bool leaked_blocks_next(struct leaked_blocks *blocks, struct allocation *ret);

/* The time bucket that was found last, and the times in it. */
struct life_part {
    uint64_t from_ns, to_ns;
    uint32_t number;
};

struct process_statistics {
    struct timeline timeline;
    struct mappings mappings;
    struct phases phases;
    struct windows windows;
    uint64_t allocated_bytes;
    uint64_t n_events;
    uint64_t last_ns;  /* of its last event, or from the log header */
    uint64_t event_ns; /* of its last event */
    uint64_t
        quiet_until_ns; /* before this time an event changes at most the peak or low; 0: unknown */
    uint64_t reported_epoch; /* of the peak that moment_blocks knows; 0: none or unknown */
    bool has_exec;           /* another image took its place */
    bool has_ended;          /* there was an end event */
    bool is_untraced;        /* not always traced, according to its definition */
    bool was_untraced;       /* was not traced for a while: it may have unknown blocks */
    uint64_t peak_snapshot_id, end_snapshot_id;
    struct address_ranges mapped_blocks; /* the live blocks that lie in no heap */
    struct address_ranges stacks; /* of n_stack_threads, the known threads of all processes */
    size_t n_stack_threads;
    uint64_t lowest_break;         /* lowest program break set by the program itself; 0: none */
    struct pairing_process traits; /* copy from its definition */
    struct life_part life_part;    /* while leaked blocks are counted */
};

enum statistics_moment {
    STATISTICS_AT_PEAK,
    STATISTICS_AT_END,
    STATISTICS_MOMENTS
};

struct statistics {
    const struct definitions *definitions;
    struct pairing *pairing;
    struct totals *totals;
    struct group_totals *groups; /* NULL: there are none */
    struct pool_blocks *pools;   /* NULL: there are none */
    struct object_walks walks;
    struct lifetimes *lifetimes;
    struct heap_ranges *heaps;
    struct heap_pages pages[STATISTICS_MOMENTS];
    struct hash_map chains; /* chain_totals_entry */
    struct snapshots *snapshots;
    struct row_sink sink;
    struct memory_samples *memory_samples;
    struct process_statistics *processes; /* by id */
    uint32_t *page_bytes;                 /* by process, as the next */
    uint8_t *word_bytes;
    uint64_t *moments_ns[STATISTICS_MOMENTS]; /* by process; UINT64_MAX: there was no such moment */
    bool keeps_memory;                        /* of statistics_keep_memory */
    struct moment_blocks *blocks;             /* NULL: rows say which were live at the moments */
    struct leaked_blocks left;                /* statistics_keep_leaked */
    struct statistics_room room;
    bool is_bounded;
    uint64_t n_ignored[STATISTICS_BOUNDED_KINDS]; /* is_bounded: phases, walks, pool blocks */
    uint32_t n_processes;                         /* begun */
    struct statistics_ids ids;  /* statistics_renumber; all zero: numbers are ids */
    struct pairing_chain chain; /* of the last row */
    uint64_t last_mapping_id;
    uint64_t n_events;
    uint64_t estimated_bytes; /* estimated from all samples so far */
    uint64_t n_unknown_phase_ends;
    uint64_t n_lost_pool_events; /* of pools that the log does not define */
};

/* The sink of the pairing: counts what happens to each block. */
struct pairing_sink statistics_blocks_sink(struct statistics *statistics);

struct window_numbers statistics_window_numbers(const struct statistics *statistics,
                                                uint32_t process);

/* The current sums of the process, for the begin and end of a phase. */
struct phase_numbers statistics_phase_numbers(const struct statistics *statistics,
                                              uint32_t process);

#endif
