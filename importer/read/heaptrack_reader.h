/* SPDX-License-Identifier: MIT */
/*
 * heaptrack_reader: a recording of heaptrack, behind the same definitions and events as our logs.
 *
 * Model:   heaptrack writes text lines, raw by its collector or interpreted (symbols looked up), in
 *          format versions 0 to 3, plain or compressed with gzip or zstd. Opening reads the file
 *          once for all it defines and for its clock; events are read in a second pass.
 *          Raw recordings and interpreted ones of version 0 name blocks by address. The other ones
 *          only say of which size and stack a freed block was: the youngest of those is taken.
 *          Time is told in ms: events are spread evenly between two instants, 1 ns apart at least.
 *          heaptrack keeps the innermost 62 frames and does not say so: stacks of that length
 *          are truncated unless a shorter one begins at the same place.
 * Invariants
 *   HT-1 Events are those of event.h: ALLOC and FREE alone, of process 1 and its unknown thread,
 *        with EVENT_CALL_UNKNOWN and no usable size.
 *   HT-2 Both passes accept the same lines, so definitions hold all that events name.
 *   HT-3 Memory: the definitions, 8 bytes per trace, 16 per instant and 40 per memory sample,
 *        HEAPTRACK_LINE_BYTES for the text, and while events are read 8 bytes per live block
 *        whose address is not known.
 * Threads: one at a time.
 * Failure: a line that makes no sense is left out and what the end of a cut file held is lost; each
 *          is one line of the damage report. Errors are memory, I/O and a newer format.
 */
#ifndef MTRACE_IMPORTER_HEAPTRACK_READER_H
#define MTRACE_IMPORTER_HEAPTRACK_READER_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"
#include "importer/model/event.h"

struct heaptrack_reader;
struct heaptrack_events;

/* Does the file begin as heaptrack's do? False also for what cannot be read. */
bool heaptrack_reader_recognizes(const char *path);

/* Is it compressed, and so damaged or short that not one line of it can be read? What is inside
 * cannot be told then. */
bool heaptrack_reader_is_stump(const char *path);

/*
 * First pass. *ret_input is a log with names and no segments, for definitions_build; the caller
 * closes it. Texts stay in the arena. Close with heaptrack_reader_close.
 */
int heaptrack_reader_open(const char *path, struct text_arena *arena,
                          struct log_damage_report *damage, struct heaptrack_reader **ret,
                          struct log_input **ret_input, struct error *err);

/* NULL is fine. Its event streams must be closed before. */
void heaptrack_reader_close(struct heaptrack_reader *reader);

/* After definitions_build: takes the ids of the stacks, and adds to the definitions what the
 * recording says itself about names, and what it lacks. */
int heaptrack_reader_finish(struct heaptrack_reader *reader, struct definitions *definitions,
                            struct error *err);

uint64_t heaptrack_reader_n_events(const struct heaptrack_reader *reader);

/* What it says of the process's memory, in order; owned by the reader. Only the resident bytes are
 * known, the other ones are UINT64_MAX. */
const struct log_sample *heaptrack_reader_samples(const struct heaptrack_reader *reader,
                                                  size_t *ret_n);

/* Second pass; as often as wanted, always the same. */
int heaptrack_events_open(struct heaptrack_reader *reader, struct heaptrack_events **ret,
                          struct error *err);
void heaptrack_events_close(struct heaptrack_events *events);

/* 1, 0 at the end, negative on failure. */
int heaptrack_events_next(struct heaptrack_events *events, struct event *ret, struct error *err);

/* How much of the file was read, 0 to 1. */
double heaptrack_events_progress(const struct heaptrack_events *events);

#endif
