/* SPDX-License-Identifier: MIT */
/*
 * log_input: one log with everything that was found out about it: its file or files, where its
 * segments are, its clock, and what it defines.
 *
 * Model:   a log is a raw file, a packed file, or a packed file and its live pool. Events of a packed file that is bounded are in
 *          generations beside it (lib/logfile/log_rotation.h), of which those are gone whose events a state has. `segments` holds
 *          the EVENTS and SIDE segments of all of them in order of (sequence, file); what follows
 *          with the same sequence is the spare of the one before (LF-2).
 * Invariants
 *   LI-1 All files of a log have the same run_id.
 *   LI-2 A segment that was listed in the pool is read, wherever it is by then (log_grown.h). Of each thread all is listed that it wrote up to some
 *        instant, which is not before the log was opened.
 *   LI-3 DEFS and NODES were read out of whatever file holds them; where both do, bytes that one
 *        lacks are taken from the other.
 *   LI-4 A time of an event, and of a reading of the clocks, is the same before its segment is packed and after: rounded to
 *        multiples of 1 << time_shift ticks.
 *   LI-5 A log that has an end is listed as it was behind it: with all its events.
 * Threads: one at a time.
 */
#ifndef MTRACE_IMPORTER_LOG_INPUT_H
#define MTRACE_IMPORTER_LOG_INPUT_H

#include "importer/log/log_input_parts.h"

/* Opens the log that `path` is part of and reads all but its events. Close with log_input_close. */
int log_input_open(const char *path, struct text_arena *arena, struct pack *pack,
                   struct log_damage_report *damage, struct log_input **ret, struct error *err);
void log_input_close(struct log_input *input);

/* Of a bounded log, with what is known of it: all before generation `first` are gone (0: none is), and n_losses places of those, with lost_bytes, were
 * missing or could not be read. Says so, and which that were to be there are missing. */
void log_input_check_generations(struct log_input *input, uint32_t first, uint64_t n_losses,
                                 uint64_t lost_bytes, struct log_damage_report *damage);

/* Generations from `first` up to, and without, `end` that were begun, and are not there. */
uint64_t log_input_n_missing(const struct log_input *input, uint32_t first, uint32_t end);

/* Its program runs, and has it mapped. */
bool log_input_is_live(const struct log_input *input);

/* Owned by the input from then on. ERROR_NOMEM or 0. */
int log_input_add_file(struct log_input *input, struct log_file_reader *file);

/* It has a live pool, which no other machine sends: the pids in it are those of this machine. */
bool log_input_is_from_here(const struct log_input *input);

/* Of one that was growing when it was opened: has its process or its recorder still to finish it? */
bool log_input_still_grows(const struct log_input *input);

/* Are all of its files open, so that what was listed can be read though their names go? */
bool log_input_holds_files(const struct log_input *input);

/* Has a thread of its program the turn to ask (struct log_question)? From before its marker is in the log until it has the answer. */
bool log_input_is_asked(const struct log_input *input);

/* The file that people know the log by. */
static inline const char *log_input_path(const struct log_input *input)
{
    return input->files[0]->path;
}

/* Reads the frame samples[index]: n of them into `samples`, room for PACK_PAYLOAD_MAX_BYTES. */
int log_input_read_samples(const struct log_input *input, size_t index, struct pack *pack,
                           struct log_sample *samples, size_t *ret_n, struct error *err);

/* Reads the payload of segments.refs[index], or of its spare when it is damaged; *ret_index says
 * which, and that one says, by then, where and how long what was read is. ERROR_FORMAT when neither can be read. */
int log_input_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   size_t *ret_index, struct error *err);

#endif
