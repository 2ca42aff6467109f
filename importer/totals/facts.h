/* SPDX-License-Identifier: MIT */
/*
 * facts: all that events add up to.
 *
 * Model:   pass 1 takes the events in order, pairs them, counts totals and puts births and ends
 *          aside (fates.h); what is known for good meanwhile goes to a sink. facts_finish settles
 *          what is left. Pass 2 (facts_next_row) puts the allocations together again in order of
 *          id, and looks up heaps and pages. All else is in struct facts (facts_parts.h).
 * Invariants
 *   FC-1 What tables of totals say can be computed from the rows (tests do).
 *   FC-2 Memory is that of the parts; nothing grows with the number of events.
 * Files:   facts.c begins and ends it all, facts_events.c takes events and samples, facts_blocks.c what pairing makes of
 *          them, facts_rows.c is pass 2.
 * Threads: one caller at a time.
 * Failure: memory, I/O, or what the sink returned.
 */
#ifndef MTRACE_IMPORTER_FACTS_H
#define MTRACE_IMPORTER_FACTS_H

#include "importer/log/state_io.h"
#include "importer/model/definitions.h"
#include "importer/model/event.h"
#include "importer/pairing/fates.h"
#include "importer/totals/facts_numbers.h"
#include "importer/totals/facts_sink.h"
#include "lib/base/error.h"
#include "lib/logfile/left_out.h"

#include <stdbool.h>
#include <stdint.h>

struct facts;
struct keyed;

/* definitions must live as long as the facts, or until others take their place. room NULL: for as many as are defined. Temporary files lie beside `target`. */
int facts_new(const struct definitions *definitions, const struct facts_room *room,
              const struct facts_sink *sink, const char *target, struct facts **ret,
              struct error *err);

/* The recording has grown, so that other definitions stand for it, in which what events name has these ids, which are looked at
 * during the call only. false: what was made so far would not be what it is if
 * these had been there from the start on, or there is no room; the facts are worth nothing then. is_sole: nothing can be read anew, so that
 * what was lost or not tracked counts from now on. */
bool facts_continue(struct facts *facts, const struct definitions *definitions,
                    const struct facts_ids *ids, bool is_sole);

/* Before the first event: keep which blocks are live at the moments that pages are counted for, so that no row need be
 * asked for. */
int facts_keep_moments(struct facts *facts, struct error *err);

/* Before facts_finish: nothing is wanted of what only these tables say, nor are rows. */
void facts_leave_out(struct facts *facts, enum left_out left_out);

/* After facts_finish: of tally_entry, what leaked_births says. */
const struct keyed *facts_leaked_births(const struct facts *facts);

/* Before facts_leave_out and facts_finish: nothing is given back, as the process is about to end; nor is by facts_free. */
void facts_keep_memory(struct facts *facts);

/* Then, too: nothing is put aside on the disk for rows, and none can be asked for. */
void facts_leave_rows_out(struct facts *facts);

/* Before the first event. */
void facts_bound(struct facts *facts, const struct facts_limits *limits);

enum facts_bounded {
    FACTS_EXTENTS,
    FACTS_FREE_SITES, /* blocks whose pairs were */
    FACTS_FLOWS,      /* the same */
    FACTS_WALKS,
    FACTS_WINDOWS,
    FACTS_PHASES,
    FACTS_BOUNDED_KINDS
};

/* How many were left out so far, and the name of the kind. */
uint64_t facts_n_left_out(const struct facts *facts, enum facts_bounded kind,
                          const char **ret_name);

/* Before facts_finish: rows of what is live then can be asked for though all others are left out. */
void facts_keep_left(struct facts *facts);

/* After facts_finish: what events called threads, nodes and pools are numbers, and these are their ids in the definitions. ids must
 * live until the last row. */
int facts_renumber(struct facts *facts, const struct facts_ids *ids, struct error *err);

/* NULL is fine. */
void facts_free(struct facts *facts);

/* ---- pass 1, in this order ---- */

/* events[0] came, and the others will: a hint, so that what they need is in the cache by
 * then. */
void facts_expect(struct facts *facts, const struct event *events, size_t n_events);

int facts_event(struct facts *facts, const struct event *event, struct error *err);

/* What the recorder saw from outside; in order of time within a process, its events included. */
int facts_memory_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t rss_bytes,
                        uint64_t anonymous_bytes, uint64_t file_bytes, struct error *err);
void facts_own_sample(struct facts *facts, uint32_t process, uint64_t own_bytes);
int facts_heap_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t start,
                      uint64_t end, enum log_heap_kind kind, struct error *err);
void facts_mapping_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t start,
                          uint64_t end, uint64_t rss_bytes);

int facts_finish(struct facts *facts, struct error *err);

/* ---- pass 2 ---- */

int facts_begin_rows(struct facts *facts, struct error *err);

/* In place of all rows, where moments were kept: the blocks that were live at them. Else nothing happens, and false. */
int facts_skip_rows(struct facts *facts, bool *ret_were_skipped, struct error *err);

/* The next allocation, and the chain that it ends or NULL; both valid until the next call. 1, 0 at
 * the end, negative on failure. All must be asked for, because pages are counted meanwhile. */
int facts_next_row(struct facts *facts, struct allocation *ret_allocation,
                   const struct pairing_chain **ret_chain, struct error *err);

int facts_end_rows(struct facts *facts, struct error *err);

/* After facts_skip_rows and facts_keep_left: the next block that is live at the end, in order of id; false behind the last. */
bool facts_next_left(struct facts *facts, struct allocation *ret_allocation);

/* When its last event so far was; 0: none. */
uint64_t facts_event_ns(const struct facts *facts, uint32_t process);

/* By the end that the import was asked for. */
bool facts_has_ended(const struct facts *facts, uint32_t process);

uint64_t facts_n_allocations(const struct facts *facts); /* culled ones not */
uint64_t facts_n_culled(const struct facts *facts);
uint64_t facts_n_events(const struct facts *facts);

/* Things the log got wrong, repaired ones included: for the closing line. */
uint64_t facts_n_anomalies(const struct facts *facts);

/* Blocks were allocated where others were live. */
uint64_t facts_n_missed_frees(const struct facts *facts);

/* What they were made with. */
const struct facts_room *facts_room(const struct facts *facts);

/* The state of pass 1 into the bytes or from them (state_io.h): before facts_finish, after facts_keep_moments and facts_leave_rows_out. Of what
 * is read: into new facts that have room for as much, and definitions of the same recording. */
void facts_visit(struct facts *facts, struct state_io *io);

#endif
