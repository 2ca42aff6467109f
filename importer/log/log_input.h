/* SPDX-License-Identifier: MIT */
/*
 * log_input: one log with everything that was found out about it: its file or files, where its
 * segments are, its clock, and what it defines.
 *
 * Model:   a log is a raw file, a packed file, or a packed file and its live pool. Events of a packed file that is bounded are in
 *          generations beside it (support/log_ring.h), of which those are gone whose events a state has. `segments` holds
 *          the EVENTS and SIDE segments of all of them in order of (sequence, file); what follows
 *          with the same sequence is the spare of the one before (LF-2).
 * Invariants
 *   LI-1 All files of a log have the same run_id.
 *   LI-2 A segment that was listed in the pool is read, wherever it is by then: a recorder packs it
 *        before it gives its place away.
 *   LI-3 DEFS and NODES were read out of whatever file holds them; where both do, bytes that one
 *        lacks are taken from the other.
 *   LI-4 A time of an event, and of a reading of the clocks, is the same before its segment is packed and after: rounded to
 *        multiples of 1 << time_shift ticks.
 *   LI-5 A log that has an end is listed as it was behind it: with all its events.
 * Threads: one at a time.
 */
#ifndef MTRACE_IMPORTER_LOG_INPUT_H
#define MTRACE_IMPORTER_LOG_INPUT_H

#include "importer/log/clock_map.h"
#include "importer/log/log_file.h"
#include "importer/log/log_names.h"
#include "importer/log/log_scan.h"

#define LOG_INPUT_POOL_SUFFIX ".live"

/* A frame of samples. */
struct log_samples_ref {
    uint64_t offset;
    uint32_t file;
};

struct log_input {
    struct log_file_reader **files; /* the packed one, generations of a bounded log, the pool */
    size_t n_files, files_capacity;
    size_t
        n_generations; /* listed: files[1] … files[n_generations]; what was begun since then comes behind the pool */
    uint32_t last_generation; /* that was opened; 0: none */
    bool is_growing;        /* its process or its recorder had not finished it when it was opened */
    bool has_lost_events;   /* some of it could not be read */
    struct log_file header; /* the latest of each field that its files know */
    struct clock_map clock;
    bool has_time_shift; /* it is packed, or being packed, and how was seen */
    unsigned time_shift; /* then; else 0 */
    struct log_names names;
    struct log_samples_ref *samples; /* in order of time */
    size_t n_samples, samples_capacity;
    struct log_segment_list segments;
    struct log_segment_list grown; /* packed since then; only what LI-2 needed was looked for */
};

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

/* Owned by the input from then on. ERROR_NOMEM or 0. */
int log_input_add_file(struct log_input *input, struct log_file_reader *file);

/* Some of its events may be in a state alone (support/log_ring.h). */
static inline bool log_input_is_ring(const struct log_input *input)
{
    return (input->files[0]->header.flags & LOG_FLAG_RING) != 0;
}

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

/* Is it named as one that its recorder removes when all of it is packed? */
bool log_input_is_pool(const char *path);

/* The name of the packed file of a log that is named by either of its files; the caller frees it, NULL without memory. */
char *log_input_packed_path(const char *path);

/* Reads the frame samples[index]: n of them into `samples`, room for PACK_PAYLOAD_MAX_BYTES. */
int log_input_read_samples(const struct log_input *input, size_t index, struct pack *pack,
                           struct log_sample *samples, size_t *ret_n, struct error *err);

/* Reads the payload of segments.refs[index], or of its spare when it is damaged; *ret_index says
 * which. ERROR_FORMAT when neither can be read. */
int log_input_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   size_t *ret_index, struct error *err);

#endif
