/* SPDX-License-Identifier: MIT */
/*
 * segment_source: the events of one segment, one after the other, in order of time.
 *
 * Model:   a source stands at an event (or one half of a realloc). Records of a thread's segment
 *          come as they were written; those of a SIDE segment are sorted first, because threads
 *          wrote them side by side. A windowed source keeps 16 KiB of its payload in memory and
 *          reads it again for more.
 * Invariants
 *   SS-1 The time of a source never decreases; stamps that did are counted.
 * Threads: one; read_ahead.h has its own.
 * Failure: memory. What cannot be understood ends the source and is reported as damage.
 */
#ifndef MTRACE_IMPORTER_SEGMENT_SOURCE_H
#define MTRACE_IMPORTER_SEGMENT_SOURCE_H

#include "importer/model/event.h"
#include "importer/read/log_record.h"
#include "importer/read/log_set_parts.h"
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
    const struct log_input *lost;      /* of which a part could not be read just now, or NULL */
    struct stream_state *state;        /* NULL: all is read at once */
};

struct segment_source {
    struct segment_source *next; /* its owner's */
    uint64_t time;               /* of `record`; fixed point, clock_map.h */
    uint64_t ticks;              /* what that was made of */
    uint64_t reported_time;      /* of the event handed out last */
    uint64_t claimed_bytes;      /* EV-6: of what is to be read again if it stops here */
    size_t n_reported;           /* since it was opened */
    bool
        is_backward; /* its stamp lies before that of the event before, and not as the beginning of a realloc's may */
    struct log_record record;
    enum log_record_half half;
    struct log_record_reader reader;
    struct side_item *items; /* SIDE only, by time */
    size_t n_items, next_item, items_capacity;
    struct log_input *input;
    struct clock_cursor cursor;
    struct loaded_segment *loaded;
    bool is_at_first;      /* `record` is the first event of the segment, and not looked at yet */
    uint32_t thread_index; /* log's and database's id of the thread asked for last */
    uint32_t thread;
    uint32_t group_index, group; /* the same of the group */
    const uint64_t *payload_end; /* reader.end is before it while only a window is in memory */
};

/* Makes a source of a segment that was read, which it owns, and goes to its first event. To be
 * closed also after a failure. */
int segment_source_open(struct segment_sources *all, struct segment_source *source,
                        struct loaded_segment *loaded, bool is_windowed, bool *ret_has_event,
                        struct error *err);
void segment_source_close(struct segment_sources *all, struct segment_source *source);

/* Counts the records so far that cannot be, which are a part of the log that is lost. */
void segment_source_take_impossible(struct segment_sources *all, struct segment_source *source);

/* Notes in all->state where it stands; is_at_end: behind its last event. ERROR_NOMEM or 0. */
int segment_source_save(struct segment_sources *all, const struct segment_source *source,
                        bool is_at_end);

/* Goes to the next event; false behind the last. */
bool segment_source_advance(struct segment_sources *all, struct segment_source *source);

/* The event that the source stands at, without its time. */
void segment_source_event(struct segment_sources *all, struct segment_source *source,
                          struct event *ret);

#endif
