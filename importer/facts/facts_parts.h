/* SPDX-License-Identifier: MIT */
/*
 * facts_parts: what the files of facts share: pass 1 (facts.c), pass 2 (fact_rows.c) and the tables
 * (fact_tables.c, code_tables.c).
 *
 * Model, invariants, threads and failure are those of facts.h.
 */
#ifndef MTRACE_IMPORTER_FACTS_PARTS_H
#define MTRACE_IMPORTER_FACTS_PARTS_H

#include "importer/facts/chain_totals.h"
#include "importer/tables/event_rows.h"
#include "importer/facts/facts.h"
#include "importer/pairing/fates.h"
#include "importer/facts/heap_pages.h"
#include "importer/facts/heap_ranges.h"
#include "importer/facts/mappings.h"
#include "importer/pairing/pairing.h"
#include "importer/tables/sample_rows.h"
#include "importer/facts/snapshots.h"
#include "importer/facts/timeline.h"
#include "importer/facts/totals.h"

struct process_facts {
    struct timeline timeline;
    struct mappings mappings;
    uint64_t n_events;
    uint64_t last_ns; /* of its last event, or what the log's header knows */
    uint64_t peak_snapshot_id, end_snapshot_id;
    uint64_t lowest_break; /* that the program moved; 0: it did not */
};

enum facts_moment {
    FACTS_AT_PEAK,
    FACTS_AT_END,
    FACTS_MOMENTS
};

struct facts {
    sqlite3 *db;
    const struct definitions *definitions;
    struct pairing *pairing;
    struct totals *totals;
    struct fates *fates;
    struct heap_ranges *heaps;
    struct heap_pages pages[FACTS_MOMENTS];
    struct chain_totals *chains;
    struct snapshots *snapshots;
    struct event_rows *event_rows;
    struct sample_rows *sample_rows;
    struct process_facts *processes;     /* by id */
    uint32_t *page_bytes;                /* by process */
    uint64_t *moments_ns[FACTS_MOMENTS]; /* by process; UINT64_MAX: there was no such moment */
    uint64_t last_mapping_id;
    uint64_t n_events;
    bool slim;
};

/* Processes, threads, objects, modules, frames, backtraces, meta. */
int code_tables_write(struct facts *facts, struct error *err);

#endif
