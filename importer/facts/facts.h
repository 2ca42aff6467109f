/* SPDX-License-Identifier: MIT */
/*
 * facts: all that events become, from the first event to the last row of the database but symbols.
 *
 * Model:   pass 1 takes the events in order, pairs them, counts totals and puts births and ends
 *          aside (fates.h). facts_finish settles what is left. Pass 2 (facts_write_rows) puts the
 *          allocations together again in order of id: one thread decodes and looks up heaps and
 *          pages, the caller's thread feeds SQLite. facts_write_tables writes all totals.
 * Invariants
 *   FC-1 What tables of totals say can be computed from the rows (tests do).
 *   FC-2 With slim nothing but the rows of allocations, chain links and chains is missing.
 *   FC-3 Memory is that of the parts; nothing grows with the number of events.
 * Threads: one caller; pass 2 has a thread of its own.
 * Failure: memory, I/O, the database, ERROR_INTERRUPTED.
 */
#ifndef MTRACE_IMPORTER_FACTS_H
#define MTRACE_IMPORTER_FACTS_H

#include "importer/stacks/definitions.h"
#include "importer/events/event.h"
#include "importer/command/progress.h"
#include "support/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct facts;

/* definitions must live as long as the facts. Temporary files lie beside `target`. */
int facts_new(sqlite3 *db, const struct definitions *definitions, const char *target,
              struct facts **ret, struct error *err);

/* NULL is fine. */
void facts_free(struct facts *facts);

/* ---- pass 1, in this order ---- */

/* events[0] comes next, and then the others: a hint, so that what they need is in the cache by
 * then. */
void facts_expect(struct facts *facts, const struct event *events, size_t n_events);

int facts_event(struct facts *facts, const struct event *event, struct error *err);

/* What the recorder saw from outside; in order of time within a process, its events included. */
int facts_memory_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t rss_bytes,
                        uint64_t anonymous_bytes, uint64_t file_bytes, struct error *err);
int facts_heap_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t start,
                      uint64_t end, enum log_heap_kind kind, struct error *err);
void facts_mapping_sample(struct facts *facts, uint32_t process, uint64_t time_ns, uint64_t start,
                          uint64_t end, uint64_t rss_bytes);

int facts_finish(struct facts *facts, struct error *err);

/* ---- pass 2 ---- */

/* slim: everything is read, no row is written. */
int facts_write_rows(struct facts *facts, bool slim, struct progress *progress, struct error *err);

/* Tables that describe processes, threads and code, all totals, and meta; last. */
int facts_write_tables(struct facts *facts, struct error *err);

uint64_t facts_n_allocations(const struct facts *facts);
uint64_t facts_n_events(const struct facts *facts);

/* Things the log got wrong, repaired ones included: for the closing line. */
uint64_t facts_n_anomalies(const struct facts *facts);

#endif
