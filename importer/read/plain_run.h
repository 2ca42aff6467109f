/* SPDX-License-Identifier: MIT */
/*
 * plain_run: fast path for allocations and frees of one thread while no other thread has an event.
 *
 * Nearly all events are LOG_ALLOC and LOG_FREE records, many of one thread in a row. For those, one
 * loop does the work of log_record_next, segment_source_advance and segment_source_event with the
 * same thread, group, clock and process. Any other record ends the run and is left to those
 * functions.
 *
 * Invariants
 *   PN-1 Source, sums and events are the same as without a run, event by event.
 *
 * Threads: that of the stream. Cannot fail; damaged records end the run.
 */
#ifndef MTRACE_IMPORTER_PLAIN_RUN_H
#define MTRACE_IMPORTER_PLAIN_RUN_H

#include "importer/read/segment_source.h"

/* Limits of a run and its result. */
struct plain_run {
    uint64_t bound;     /* keys must be less */
    uint64_t last_time; /* time of the last event of the stream */
    size_t most;        /* events */
    size_t n;           /* events stored */
    /* True: the source is at the next event. False: it is at the last stored one and must be
     * advanced. */
    bool is_at_next;
};

/* Stores events from the source's current one on; its key is below the bound. */
void plain_run_take(struct segment_sources *all, struct segment_source *source,
                    struct plain_run *run, struct event *events);

#endif
