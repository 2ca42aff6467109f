/* SPDX-License-Identifier: MIT */
/*
 * event_stream: the events of all segments of a set as one stream, sorted by time.
 *
 * Every EVENTS segment is sorted already; a FALLBACK segment is sorted when it is opened. A segment
 * is opened when the merge reaches the first time it can contain, and closed after its last event,
 * so about one segment per thread is in memory. A second thread reads and unpacks ahead.
 *
 * An event with a time before the previous one gets the previous time and counts as
 * LOG_DAMAGE_TIME. The order between threads is that of their stamps: if two stamps differ by
 * little, the free of a block and the next allocation at its address, by different threads, may
 * come in the wrong order.
 *
 * Invariants: those of importer/model/event.h, and
 *   MG-1 If the options of the set have an end, only events up to it are returned, whatever is
 *        written later: a consistent cut.
 *
 * Threads: a stream is used by one thread at a time; one stream per set at a time.
 * Errors: memory and I/O. Damaged segments are skipped and reported (log_set_damage).
 */
#ifndef MTRACE_IMPORTER_EVENT_STREAM_H
#define MTRACE_IMPORTER_EVENT_STREAM_H

#include "importer/model/event.h"
#include "importer/read/log_set.h"
#include "importer/read/stream_state.h"

struct event_stream;

/* Starts at the first event. After close it may be opened again, with the same events in the same
 * order. */
int event_stream_open(struct log_set *set, struct event_stream **ret, struct error *err);

/*
 * Continues after the events that `state` says were handed out (all zero: at the first event), and
 * ends after the last event up to `mark`, in fixed point (clock_map.h); UINT64_MAX: after the last
 * of all. The state is updated when the end is reached. Call log_set_skip_done before.
 */
int event_stream_resume(struct log_set *set, struct stream_state *state, uint64_t mark,
                        struct event_stream **ret, struct error *err);

/* Accepts NULL. */
void event_stream_close(struct event_stream *stream);

/* Returns 1 and the next event, 0 at the end, negative on failure. */
int event_stream_next(struct event_stream *stream, struct event *ret_event, struct error *err);

/* The same for up to `most` events: *ret_n are there; 1, 0 or a failure applies after them. Faster
 * while one thread runs alone. */
int event_stream_take(struct event_stream *stream, struct event *events, size_t most, size_t *ret_n,
                      struct error *err);

#endif
