/* SPDX-License-Identifier: MIT */
/*
 * segment_source: the events of one segment, one after the other, sorted by time.
 *
 * A source is at one event, or at one half of a realloc. Records of a thread's segment come as they
 * were written. Those of a FALLBACK segment are sorted first, because threads wrote them
 * concurrently. A windowed source keeps 16 KiB of its payload in memory and reads it again for
 * more.
 *
 * A run is the fast path for allocations and frees of one thread while no other thread has an
 * event. Nearly all events are LOG_ALLOC and LOG_FREE records, many of one thread in a row. For
 * those, one loop does the work of log_record_next, segment_source_advance and segment_source_event
 * with the same thread, group, clock and process. Any other record, also a damaged one, ends the
 * run and is left to those functions.
 *
 * Invariants
 *   SS-1 The time of a source never decreases; stamps that did are counted.
 *   PN-1 Source, sums and events are the same as without a run, event by event.
 *
 * Threads: one; read_ahead.h has its own.
 * Errors: memory. Invalid data ends the source and is reported as damage.
 */
#ifndef MTRACE_IMPORTER_SEGMENT_SOURCE_H
#define MTRACE_IMPORTER_SEGMENT_SOURCE_H

#include "importer/model/event.h"
#include "importer/read/log_record.h"
#include "importer/read/log_set.h"
#include "importer/read/read_ahead.h"
#include "importer/read/stream_state.h"

#include <stdbool.h>

/* What all sources of a stream share. */
struct segment_sources {
    struct log_set *set;
    struct read_ahead *ahead;
    struct log_damage_report *damage;
    uint64_t n_lost_nodes, n_backward, n_unknown, n_impossible;
    uint64_t n_lost_parts, lost_bytes; /* as stream_state.h */
    uint64_t claimed_bytes;            /* of all events so far: EV-6 */
    const struct log_input *lost;      /* a part of this log could not be read just now, or NULL */
    struct stream_state *state;        /* NULL: one stream reads everything */
};

struct segment_source {
    struct segment_source *next; /* for the owner */
    uint64_t time;               /* of `record`; fixed point, clock_map.h */
    uint64_t ticks;              /* of `record` */
    uint64_t reported_time;      /* time of the last event handed out */
    /* EV-6: before the current record, in case the source stops here */
    uint64_t claimed_bytes;
    size_t n_reported; /* events handed out since opening */
    /* its stamp is before the previous one, and it is not the first half of a realloc, where this
     * is normal */
    bool is_backward;
    struct log_record record;
    enum log_record_half half;
    struct log_record_reader reader;
    struct fallback_item *items; /* FALLBACK only, by time */
    size_t n_items, next_item, items_capacity;
    struct log_input *input;
    struct clock_cursor cursor;
    struct loaded_segment *loaded;
    bool is_at_first;      /* `record` is the segment's first event and not yet checked */
    uint32_t thread_index; /* last lookup: id in the log and in the database */
    uint32_t thread;
    uint32_t group_index, group; /* the same for the group */
    const uint64_t *payload_end; /* reader.end is before it while only a window is in memory */
};

/* Opens a source for a loaded segment, takes ownership of it, and goes to its first event. Close it
 * also after a failure. */
int segment_source_open(struct segment_sources *all, struct segment_source *source,
                        struct loaded_segment *loaded, bool is_windowed, bool *ret_has_event,
                        struct error *err);
void segment_source_close(struct segment_sources *all, struct segment_source *source);

/* Counts the impossible records so far (RC-3) as a lost part of the log. */
void segment_source_take_impossible(struct segment_sources *all, struct segment_source *source);

/* Saves the source's position in all->state; is_at_end: after its last event. ERROR_NOMEM or 0. */
int segment_source_save(struct segment_sources *all, const struct segment_source *source,
                        bool is_at_end);

/* Goes to the next event; false after the last. */
bool segment_source_advance(struct segment_sources *all, struct segment_source *source);

/* Decodes the source's current event, without its time. */
void segment_source_event(struct segment_sources *all, struct segment_source *source,
                          struct event *ret);

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
void segment_source_take_run(struct segment_sources *all, struct segment_source *source,
                             struct plain_run *run, struct event *events);

#endif
