/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_reader: reads a recording of heaptrack as definitions and events like those of mtrace's
 * logs.
 *
 * heaptrack writes text lines, raw (by its collector) or interpreted (with symbols), in format
 * versions 0 to 3, plain or compressed with gzip or zstd. Opening reads the file once for its
 * definitions and clock; a second pass reads the events.
 *
 * Raw recordings, and interpreted ones of version 0, identify blocks by address. The others contain
 * only size and stack of a freed block: the newest such block is taken.
 *
 * Times have a resolution of 1 ms: events between two clock lines are spread evenly, at least 1 ns
 * apart.
 *
 * heaptrack keeps the innermost 62 frames without saying so: stacks of that length count as
 * truncated unless a shorter stack begins at the same frame.
 *
 * Invariants
 *   HT-1 The events are as in event.h, but only ALLOC and FREE, of process 1 and its unknown
 *        thread, with EVENT_CALL_UNKNOWN and without usable size.
 *   HT-2 Both passes accept the same lines, so the definitions contain everything that events refer
 *        to.
 *   HT-3 Memory: the definitions, 8 bytes per trace, 16 per clock line, 40 per memory sample,
 *        HEAPTRACK_LINE_BYTES, and during the second pass 8 bytes per live block without an
 *        address.
 *
 * Threads: one at a time.
 * Errors: memory, I/O, a newer format. Invalid lines are skipped, and the end of a cut file is
 * lost; each is one entry of the damage report.
 */
#ifndef MTRACE_IMPORTER_HEAPTRACK_READER_H
#define MTRACE_IMPORTER_HEAPTRACK_READER_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "importer/model/event.h"

struct heaptrack_reader;
struct heaptrack_events;

/* True if the file begins like a recording of heaptrack; false also if it is unreadable. */
bool heaptrack_reader_recognizes(const char *path);

/* True if the file is compressed and not one line can be decoded, so that its content is
 * unknown. */
bool heaptrack_reader_is_stump(const char *path);

/*
 * First pass. *ret_input is a log with names and no segments, for definitions_build; the caller
 * closes it. Strings stay in the arena. Close with heaptrack_reader_close.
 */
int heaptrack_reader_open(const char *path, struct text_arena *arena,
                          struct log_damage_report *damage, struct heaptrack_reader **ret,
                          struct log_input **ret_input, struct error *err);

/* Accepts NULL. Close its event streams first. */
void heaptrack_reader_close(struct heaptrack_reader *reader);

/* After definitions_build: takes the ids of the stacks, and adds the names that the recording
 * contains to the definitions. */
int heaptrack_reader_finish(struct heaptrack_reader *reader, struct definitions *definitions,
                            struct error *err);

uint64_t heaptrack_reader_n_events(const struct heaptrack_reader *reader);

/* The memory samples, in order; owned by the reader. Only resident bytes are known, the others are
 * UINT64_MAX. */
const struct log_sample *heaptrack_reader_samples(const struct heaptrack_reader *reader,
                                                  size_t *ret_n);

/* Second pass. May be repeated, with the same result. */
int heaptrack_events_open(struct heaptrack_reader *reader, struct heaptrack_events **ret,
                          struct error *err);
void heaptrack_events_close(struct heaptrack_events *events);

/* Returns 1 and an event, 0 at the end, negative on failure. */
int heaptrack_events_next(struct heaptrack_events *events, struct event *ret, struct error *err);

/* Fraction of the file that was read, 0 to 1. */
double heaptrack_events_progress(const struct heaptrack_events *events);

#endif
