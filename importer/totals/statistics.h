/* SPDX-License-Identifier: MIT */
/*
 * statistics: everything that is computed from the events of a recording.
 *
 * Pass 1 takes the events in order, pairs them, counts totals and spools allocations and frees
 * (lifetimes.h). Rows that are already final go to a sink. statistics_finish settles the rest. Pass
 * 2 (statistics_next_row) returns whole allocations in order of id and assigns heaps and pages. The
 * other results are in struct statistics (facts_parts.h).
 *
 * Invariants
 *   FC-1 Tables of totals can be computed from the rows (tests do).
 *   FC-2 Memory is that of the parts; nothing grows with the number of events.
 *
 * Files: statistics.c creates and finishes, facts_events.c takes events and samples, facts_blocks.c
 * counts paired blocks, facts_rows.c is pass 2.
 * Threads: one at a time.
 * Errors: memory, I/O, or those of the sink.
 */
#ifndef MTRACE_IMPORTER_STATISTICS_H
#define MTRACE_IMPORTER_STATISTICS_H

#include "importer/log/checkpoint_io.h"
#include "importer/model/definitions.h"
#include "importer/model/event.h"
#include "importer/pairing/lifetimes.h"
#include "importer/totals/row_sink.h"
#include "importer/totals/stable_numbers.h"
#include "lib/base/error.h"
#include "lib/logfile/left_out.h"

#include <stdbool.h>
#include <stdint.h>

struct statistics;
struct hash_map;

/* definitions must live as long as the statistics, or until statistics_continue replaces them. room
 * NULL: as many as are defined. Temporary files are created next to `target`. */
int statistics_new(const struct definitions *definitions, const struct statistics_room *room,
                   const struct row_sink *sink, const char *target, struct statistics **ret,
                   struct error *err);

/* Continues with new definitions after the recording has grown. ids maps numbers in events to ids
 * in them, and is used during the call only. Returns false if earlier results would differ with
 * these definitions, or the capacity is too small: the statistics are then useless. is_sole: the
 * log cannot be read again, so losses and untracked times count from now on. */
bool statistics_continue(struct statistics *facts, const struct definitions *definitions,
                         const struct statistics_ids *ids, bool is_sole);

/* Keeps the blocks that are live at the peak and the end, so that pages can be counted without
 * rows. Before the first event. */
int statistics_keep_moments(struct statistics *facts, struct error *err);

/* Skips tables by detail level: neither they nor rows will be read. Before statistics_finish. */
void statistics_leave_out(struct statistics *facts, enum left_out left_out);

/* leaked_allocations as pair_totals_entry. After statistics_finish. */
const struct hash_map *statistics_leaked_allocations(const struct statistics *facts);

/* The process is about to exit: statistics_finish and statistics_free do not free memory. Before
 * statistics_leave_out and statistics_finish. */
void statistics_keep_memory(struct statistics *facts);

/* Spools no rows to disk; pass 2 is impossible. Before the first event. */
void statistics_leave_rows_out(struct statistics *facts);

/* Bounds what would grow with the recording. Before the first event. */
void statistics_bound(struct statistics *facts, const struct statistics_limits *limits);

enum statistics_bounded {
    STATISTICS_EXTENTS,
    STATISTICS_FREE_SITES, /* blocks whose pairs were omitted */
    STATISTICS_FLOWS,      /* the same */
    STATISTICS_WALKS,
    STATISTICS_WINDOWS,
    STATISTICS_PHASES,
    STATISTICS_BOUNDED_KINDS
};

/* How many were omitted so far, and the name of the kind. */
uint64_t statistics_n_left_out(const struct statistics *facts, enum statistics_bounded kind,
                               const char **ret_name);

/* Keeps the blocks that are live at the end for statistics_next_left although other rows are
 * omitted. Before statistics_finish. */
void statistics_keep_left(struct statistics *facts);

/* Replaces the numbers of threads, nodes and pools by their ids in the definitions. After
 * statistics_finish; ids must live until the last row. */
int statistics_renumber(struct statistics *facts, const struct statistics_ids *ids,
                        struct error *err);

/* NULL is fine. */
void statistics_free(struct statistics *facts);

/* ---- pass 1, in this order ---- */

/* Prefetches data for the events after events[0]. A hint. */
void statistics_expect(struct statistics *facts, const struct event *events, size_t n_events);

int statistics_event(struct statistics *facts, const struct event *event, struct error *err);

/* Samples that the recorder took; in order of time within a process, together with its events. */
int statistics_memory_sample(struct statistics *facts, uint32_t process, uint64_t time_ns,
                             uint64_t rss_bytes, uint64_t anonymous_bytes, uint64_t file_bytes,
                             struct error *err);
void statistics_own_sample(struct statistics *facts, uint32_t process, uint64_t own_bytes);
int statistics_heap_sample(struct statistics *facts, uint32_t process, uint64_t time_ns,
                           uint64_t start, uint64_t end, enum log_heap_kind kind,
                           struct error *err);
void statistics_mapping_sample(struct statistics *facts, uint32_t process, uint64_t time_ns,
                               uint64_t start, uint64_t end, uint64_t rss_bytes);

int statistics_finish(struct statistics *facts, struct error *err);

/* ---- pass 2 ---- */

int statistics_begin_rows(struct statistics *facts, struct error *err);

/* Adds the kept blocks (statistics_keep_moments) instead of reading rows. *ret_were_skipped is
 * false if they were not kept: nothing happened. */
int statistics_skip_rows(struct statistics *facts, bool *ret_were_skipped, struct error *err);

/* The next allocation, and the chain that it ends or NULL; both valid until the next call. Returns
 * 1, 0 at the end, negative on failure. Read all of them: this also counts pages. */
int statistics_next_row(struct statistics *facts, struct allocation *ret_allocation,
                        const struct pairing_chain **ret_chain, struct error *err);

int statistics_end_rows(struct statistics *facts, struct error *err);

/* The next block that is live at the end, in order of id; false at the end. After
 * statistics_skip_rows and statistics_keep_left. */
bool statistics_next_left(struct statistics *facts, struct allocation *ret_allocation);

/* Time of its last event so far; 0: none. */
uint64_t statistics_event_ns(const struct statistics *facts, uint32_t process);

/* Has the process ended by the end of the imported time? */
bool statistics_has_ended(const struct statistics *facts, uint32_t process);

uint64_t statistics_n_allocations(const struct statistics *facts); /* without elided ones */
uint64_t statistics_n_elided(const struct statistics *facts);
uint64_t statistics_n_events(const struct statistics *facts);

/* Errors in the log, including repaired ones, for the exit summary. */
uint64_t statistics_n_anomalies(const struct statistics *facts);

/* Number of blocks allocated where another was live. */
uint64_t statistics_n_missed_frees(const struct statistics *facts);

/* The capacities given to statistics_new. */
const struct statistics_room *statistics_room(const struct statistics *facts);

/* Saves the state of pass 1, or loads it into new statistics of the same recording and at least the
 * same capacity (checkpoint_io.h). Before statistics_finish, after statistics_keep_moments and
 * statistics_leave_rows_out. */
void statistics_visit(struct statistics *facts, struct checkpoint_io *io);

#endif
