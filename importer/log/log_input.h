/* SPDX-License-Identifier: MIT */
/*
 * log_input: one log: its files, segments, clock and definitions.
 *
 * A log is a raw file, a packed file, or a packed file and its live pool. The events of a bounded
 * log are in rotated logs beside it (lib/logfile/log_rotation.h); those that a checkpoint contains
 * are removed. `segments` holds all EVENTS and SIDE segments by (sequence, file). A second entry
 * with the same sequence is the spare of the first (LF-2).
 *
 * Invariants
 *   LI-1 All files of a log have the same run_id.
 *   LI-2 A segment listed in the pool can be read, wherever it is by then (log_grown.h). For each
 *        thread, all segments up to some time not before the opening are listed.
 *   LI-3 DEFS and NODES are read from every file that has them; each file supplies what others
 *        lack.
 *   LI-4 Times of events and clock readings do not change when a segment is packed: they are
 *        rounded to multiples of 1 << time_shift ticks.
 *   LI-5 A log that has its end is listed as after the end: with all its events.
 *
 * Threads: one at a time.
 */
#ifndef MTRACE_IMPORTER_LOG_INPUT_H
#define MTRACE_IMPORTER_LOG_INPUT_H

#include "importer/log/log_input_parts.h"

/* Opens the log that `path` belongs to, and reads everything except its events. */
int log_input_open(const char *path, struct text_arena *arena, struct pack *pack,
                   struct log_damage_report *damage, struct log_input **ret, struct error *err);
void log_input_close(struct log_input *input);

/* For a bounded log: all rotated logs before `first` were removed (0: none), and had n_losses
 * unreadable or missing places with lost_bytes. Reports these and any missing rotated logs as
 * damage. */
void log_input_check_generations(struct log_input *input, uint32_t first, uint64_t n_losses,
                                 uint64_t lost_bytes, struct log_damage_report *damage);

/* Number of rotated logs in [first, end) that were begun and are missing. */
uint64_t log_input_n_missing(const struct log_input *input, uint32_t first, uint32_t end);

/* True if its program runs and has the log mapped. */
bool log_input_is_live(const struct log_input *input);

/* Transfers ownership to the input. ERROR_NOMEM or 0. */
int log_input_add_file(struct log_input *input, struct log_file_reader *file);

/* True if it has a live pool, which only this machine can have made: its PIDs are valid here. */
bool log_input_is_from_here(const struct log_input *input);

/* For a log that was growing when it was opened: does its process or recorder still write it? */
bool log_input_still_grows(const struct log_input *input);

/* True if all its files are open, so that they stay readable when they are removed. */
bool log_input_holds_files(const struct log_input *input);

/* True if a thread of its program holds the request slot (struct log_question): from before its
 * marker is in the log until it has the answer. */
bool log_input_is_asked(const struct log_input *input);

/* The file that messages name. */
static inline const char *log_input_path(const struct log_input *input)
{
    return input->files[0]->path;
}

/* Reads the frame samples[index] into `samples`, which holds PACK_PAYLOAD_MAX_BYTES. */
int log_input_read_samples(const struct log_input *input, size_t index, struct pack *pack,
                           struct log_sample *samples, size_t *ret_n, struct error *err);

/* Reads the payload of segments.refs[index], or of its spare if it is damaged. *ret_index is the
 * entry that was read; it is updated if the segment moved. ERROR_FORMAT: neither is readable. */
int log_input_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   size_t *ret_index, struct error *err);

#endif
