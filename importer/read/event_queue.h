/* SPDX-License-Identifier: MIT */
/*
 * event_queue: the events of a set, merged ahead by a separate thread.
 *
 * A ring of batches: the thread fills the oldest empty batch from an event stream (event_stream.h),
 * the user empties the oldest full one. A frugal set (log_set_be_frugal) has one batch and no
 * thread.
 *
 * Invariants
 *   EQ-1 The events are those of the stream, in its order.
 *   EQ-2 Memory: EVENT_QUEUE_BATCHES batches of EVENT_QUEUE_EVENTS events, beside the stream.
 *
 * Threads: one user. No other stream of the set may be open.
 * Errors: as in event_stream.h; an error comes after the events before it.
 */
#ifndef MTRACE_IMPORTER_EVENT_QUEUE_H
#define MTRACE_IMPORTER_EVENT_QUEUE_H

#include "importer/read/event_stream.h"

enum {
    EVENT_QUEUE_BATCHES = 8,
    EVENT_QUEUE_EVENTS = 512,
};

struct event_batch {
    size_t n_events;
    struct event events[EVENT_QUEUE_EVENTS];
};

struct event_queue;

/* Close with event_queue_close. state and mark: as in event_stream_resume. The thread uses the
 * state until the end is reached. */
int event_queue_open(struct log_set *set, struct stream_state *state, uint64_t mark,
                     struct event_queue **ret, struct error *err);

/* May be called before the end; accepts NULL. */
void event_queue_close(struct event_queue *queue);

/* Returns 1 and the next batch, valid until the next call; 0 at the end; negative on failure. */
int event_queue_next(struct event_queue *queue, const struct event_batch **ret, struct error *err);

#endif
