/* SPDX-License-Identifier: MIT */
/*
 * facts: all that events add up to.
 *
 * Model:   pass 1 takes the events in order, pairs them, counts totals and puts births and ends
 *          aside (lifetimes.h); what is known for good meanwhile goes to a sink. statistics_finish settles
 *          what is left. Pass 2 (statistics_next_row) puts the allocations together again in order of
 *          id, and looks up heaps and pages. All else is in struct statistics (facts_parts.h).
 * Invariants
 *   FC-1 What tables of totals say can be computed from the rows (tests do).
 *   FC-2 Memory is that of the parts; nothing grows with the number of events.
 * Files:   statistics.c begins and ends it all, facts_events.c takes events and samples, facts_blocks.c what pairing makes of
 *          them, facts_rows.c is pass 2.
 * Threads: one caller at a time.
 * Failure: memory, I/O, or what the sink returned.
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

/* definitions must live as long as the facts, or until others take their place. room NULL: for as many as are defined. Temporary files lie beside `target`. */
int statistics_new(const struct definitions *definitions, const struct statistics_room *room,
                   const struct row_sink *sink, const char *target, struct statistics **ret,
                   struct error *err);

/* The recording has grown, so that other definitions stand for it, in which what events name has these ids, which are looked at
 * during the call only. false: what was made so far would not be what it is if
 * these had been there from the start on, or there is no room; the facts are worth nothing then. is_sole: nothing can be read anew, so that
 * what was lost or not tracked counts from now on. */
bool statistics_continue(struct statistics *facts, const struct definitions *definitions,
                         const struct statistics_ids *ids, bool is_sole);

/* Before the first event: keep which blocks are live at the moments that pages are counted for, so that no row need be
 * asked for. */
int statistics_keep_moments(struct statistics *facts, struct error *err);

/* Before statistics_finish: nothing is wanted of what only these tables say, nor are rows. */
void statistics_leave_out(struct statistics *facts, enum left_out left_out);

/* After statistics_finish: of pair_totals_entry, what leaked_allocations says. */
const struct hash_map *statistics_leaked_allocations(const struct statistics *facts);

/* Before statistics_leave_out and statistics_finish: nothing is given back, as the process is about to end; nor is by statistics_free. */
void statistics_keep_memory(struct statistics *facts);

/* Then, too: nothing is put aside on the disk for rows, and none can be asked for. */
void statistics_leave_rows_out(struct statistics *facts);

/* Before the first event. */
void statistics_bound(struct statistics *facts, const struct statistics_limits *limits);

enum statistics_bounded {
    STATISTICS_EXTENTS,
    STATISTICS_FREE_SITES, /* blocks whose pairs were */
    STATISTICS_FLOWS,      /* the same */
    STATISTICS_WALKS,
    STATISTICS_WINDOWS,
    STATISTICS_PHASES,
    STATISTICS_BOUNDED_KINDS
};

/* How many were left out so far, and the name of the kind. */
uint64_t statistics_n_left_out(const struct statistics *facts, enum statistics_bounded kind,
                               const char **ret_name);

/* Before statistics_finish: rows of what is live then can be asked for though all others are left out. */
void statistics_keep_left(struct statistics *facts);

/* After statistics_finish: what events called threads, nodes and pools are numbers, and these are their ids in the definitions. ids must
 * live until the last row. */
int statistics_renumber(struct statistics *facts, const struct statistics_ids *ids,
                        struct error *err);

/* NULL is fine. */
void statistics_free(struct statistics *facts);

/* ---- pass 1, in this order ---- */

/* events[0] came, and the others will: a hint, so that what they need is in the cache by
 * then. */
void statistics_expect(struct statistics *facts, const struct event *events, size_t n_events);

int statistics_event(struct statistics *facts, const struct event *event, struct error *err);

/* What the recorder saw from outside; in order of time within a process, its events included. */
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

/* In place of all rows, where moments were kept: the blocks that were live at them. Else nothing happens, and false. */
int statistics_skip_rows(struct statistics *facts, bool *ret_were_skipped, struct error *err);

/* The next allocation, and the chain that it ends or NULL; both valid until the next call. 1, 0 at
 * the end, negative on failure. All must be asked for, because pages are counted meanwhile. */
int statistics_next_row(struct statistics *facts, struct allocation *ret_allocation,
                        const struct pairing_chain **ret_chain, struct error *err);

int statistics_end_rows(struct statistics *facts, struct error *err);

/* After statistics_skip_rows and statistics_keep_left: the next block that is live at the end, in order of id; false behind the last. */
bool statistics_next_left(struct statistics *facts, struct allocation *ret_allocation);

/* When its last event so far was; 0: none. */
uint64_t statistics_event_ns(const struct statistics *facts, uint32_t process);

/* By the end that the import was asked for. */
bool statistics_has_ended(const struct statistics *facts, uint32_t process);

uint64_t statistics_n_allocations(const struct statistics *facts); /* elided ones not */
uint64_t statistics_n_elided(const struct statistics *facts);
uint64_t statistics_n_events(const struct statistics *facts);

/* Things the log got wrong, repaired ones included: for the closing line. */
uint64_t statistics_n_anomalies(const struct statistics *facts);

/* Blocks were allocated where others were live. */
uint64_t statistics_n_missed_frees(const struct statistics *facts);

/* What they were made with. */
const struct statistics_room *statistics_room(const struct statistics *facts);

/* The state of pass 1 into the bytes or from them (checkpoint_io.h): before statistics_finish, after statistics_keep_moments and statistics_leave_rows_out. Of what
 * is read: into new facts that have room for as much, and definitions of the same recording. */
void statistics_visit(struct statistics *facts, struct checkpoint_io *io);

#endif
