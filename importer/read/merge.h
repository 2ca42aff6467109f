/* SPDX-License-Identifier: MIT */
/*
 * merge: the events of all segments of a set as one stream in order of time.
 *
 * Model:   every EVENTS segment is ordered in itself, a SIDE segment is sorted when it is opened. A
 *          segment is opened when the merge reaches the first time it can hold, and closed behind
 *          its last event, so about one segment per thread is in memory. A second thread reads and
 *          unpacks ahead.
 * Invariants: those of importer/model/event.h. An event that claims a time before the one handed out last
 *          gets that one, and is counted as LOG_DAMAGE_TIME. Order between threads is that of the
 *          stamps: whoever pairs must expect that a free and the birth of its block, made by
 *          different threads, come in the wrong order when their stamps differ by little.
 *   MG-1 With an end in the options of the set the events are those that come before it, whatever was
 *        written behind it meanwhile: a cut through all threads at one instant.
 * Threads: a stream is used by one thread at a time; one stream per set at a time.
 * Failure: damaged segments are skipped and reported (log_set_damage); errors are memory and I/O.
 */
#ifndef MTRACE_IMPORTER_MERGE_H
#define MTRACE_IMPORTER_MERGE_H

#include "importer/model/event.h"
#include "importer/read/log_set.h"
#include "importer/read/stream_state.h"

struct event_stream;

/* Starts at the first event. May be opened again after close: the same events in the same order. */
int event_stream_open(struct log_set *set, struct event_stream **ret, struct error *err);

/*
 * Starts behind what `state` says was handed out (all zero: at the first event), and ends behind the last
 * event up to `mark`, a time in fixed point as clock_map.h has it; UINT64_MAX: behind the last of all. The state is
 * brought up to that when the end is reached. With state->is_late or state->has_damage an error says so: what was handed
 * out is not the beginning of the recording as it is now. log_set_skip_done comes before.
 */
int event_stream_resume(struct log_set *set, struct stream_state *state, uint64_t mark,
                        struct event_stream **ret, struct error *err);

/* NULL is fine. */
void event_stream_close(struct event_stream *stream);

/* The next event into *ret_event: 1, 0 at the end, negative on failure. */
int event_stream_next(struct event_stream *stream, struct event *ret_event, struct error *err);

/* The same for as many as there is room for: *ret_n are there, and 1, 0 or a failure comes behind them. Faster where a thread runs alone. */
int event_stream_take(struct event_stream *stream, struct event *events, size_t most, size_t *ret_n,
                      struct error *err);

/* How much was read, 0 to 1, by bytes. */
double event_stream_progress(const struct event_stream *stream);

#endif
