/* SPDX-License-Identifier: MIT */
/*
 * plain_run: births and frees of a thread while nobody else has an event, straight from the words.
 *
 * Model:   nearly all events are LOG_ALLOC and LOG_FREE records, many in a row of one thread before anything else is due. While that is so,
 *          what log_record_next, segment_source_advance and segment_source_event do is one loop, for which thread, group, clock and process
 *          are the same. Whatever is not plain ends the run, and is left to them.
 * Invariants
 *   PN-1 Source, sums and events are what they are without a run, event by event.
 * Threads: that of the stream.
 * Failure: none; what is damaged is not plain.
 */
#ifndef MTRACE_IMPORTER_PLAIN_RUN_H
#define MTRACE_IMPORTER_PLAIN_RUN_H

#include "importer/read/segment_source.h"

/* What the run may do, and how far it went. */
struct plain_run {
    uint64_t bound;     /* keys are less */
    uint64_t last_time; /* of the stream: of the event handed out last */
    size_t most;        /* events */
    size_t n;           /* that were handed out */
    /* The source stands at the event that comes next. Else it stands at the last one that was handed out, to go on from. */
    bool is_at_next;
};

/* Those from the one on that the source stands at. The key of it is below the bound. */
void plain_run_take(struct segment_sources *all, struct segment_source *source,
                    struct plain_run *run, struct event *events);

#endif
