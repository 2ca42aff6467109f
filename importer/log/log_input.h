/* SPDX-License-Identifier: MIT */
/*
 * log_input: one log: its files, segments, clock and definitions.
 *
 * A log is a raw file, a packed file, or a packed file and its live log. The events of a bounded
 * log are in rotated logs beside it (lib/logfile/log_rotation.h); those that a checkpoint contains
 * are removed. All files of a log have the same run_id. `segments` holds all EVENTS and FALLBACK
 * segments by (sequence, file). A second entry with the same sequence is the spare of the first
 * (LF-2).
 *
 * While a log is read, a recorder may pack a segment of the live log and recycle it. It may also
 * elide events (recorder/pack/elide.h): the frame then has other records, more or fewer, that add
 * up to the same. log_grown.c reads such segments.
 *
 *     listed while it was filled --> copied immediately: only part of it existed
 *     listed when it was sealed ---> read in place or, after it was recycled, its whole frame
 *
 * Invariants
 *   LI-1 A segment listed in the live log can be read, wherever it is by then (GR-1). For each
 *        thread, all segments up to some time not before the opening are listed.
 *   LI-2 DEFS and NODES are read from every file that has them; each file supplies what others
 *        lack.
 *   LI-3 Times of events and clock readings do not change when a segment is packed: they are
 *        rounded to multiples of 1 << time_shift ticks.
 *   LI-4 A log that has its end is listed as after the end: with all its events.
 *   GR-1 A segment is read either as the program wrote it or as its frame, never a mixture.
 *   GR-2 After a segment was read as a frame, its list entry is that of the frame.
 *   GR-3 Records stamped before watermark_ticks (read before the live log was listed) are the same
 *        words at the beginning of a listed segment and of its frame. So a reader that stopped
 *        there may continue in either. (log_packing.watermark_ticks, PG-5)
 *
 * Threads: one at a time.
 */
#ifndef MTRACE_IMPORTER_LOG_INPUT_H
#define MTRACE_IMPORTER_LOG_INPUT_H

#include "importer/log/clock_map.h"
#include "importer/log/log_file.h"
#include "importer/log/log_names.h"
#include "importer/log/log_scan.h"

/* A frame of samples. */
struct log_samples_ref {
    uint64_t offset;
    uint32_t file;
};

struct log_input {
    /* packed file, rotated logs, live log; or a live log alone, then files packed since it was
     * opened */
    struct log_file_reader **files;
    size_t n_files, files_capacity;
    /* listed ones: files[1] … files[n_rotated_logs]; later ones follow the live log */
    size_t n_rotated_logs;
    uint32_t last_rotated_number; /* the last one that was opened; 0: none */
    bool is_growing;              /* it was still being written when it was opened */
    bool had_writer;              /* the same, but it may have been finished during opening */
    bool has_lost_events;         /* a part of it was unreadable */
    struct log_header header;     /* the latest value of each field */
    struct clock_map clock;
    bool has_time_shift;      /* time_shift is known: it is or was being packed */
    unsigned time_shift;      /* then; else 0 */
    uint64_t watermark_ticks; /* GR-3; 0: the whole live log */
    struct log_names names;
    struct log_samples_ref *samples; /* sorted by time */
    size_t n_samples, samples_capacity;
    struct log_segment_list segments;
    struct log_segment_list grown; /* packed since then; searched for LI-1 only */
    uint64_t **copies;             /* of live log segments as they were listed */
    size_t n_copies, copies_capacity;
};

/* The packed file, whose name the other names begin with; or the only file. */
static inline const struct log_file_reader *log_input_packed(const struct log_input *input)
{
    return input->files[input->n_files > 1 && input->files[0]->header.form == LOG_FORM_RAW];
}

/* The log is bounded: some events may be only in its checkpoint (lib/logfile/log_rotation.h). */
static inline bool log_input_is_bounded(const struct log_input *input)
{
    return (log_input_packed(input)->header.flags & LOG_FLAG_BOUNDED) != 0;
}

/* Opens the log that `path` belongs to, and reads everything except its events. */
int log_input_open(const char *path, struct text_arena *arena, struct pack *pack,
                   struct log_damage_report *damage, struct log_input **ret, struct error *err);
void log_input_close(struct log_input *input);

/* For a bounded log: all rotated logs before `first` were removed (0: none), and had n_losses
 * unreadable or missing places with lost_bytes. Reports these and any missing rotated logs as
 * damage. */
void log_input_check_rotated_logs(struct log_input *input, uint32_t first, uint64_t n_losses,
                                  uint64_t lost_bytes, struct log_damage_report *damage);

/* Number of rotated logs in [first, end) that were begun and are missing. */
uint64_t log_input_n_missing(const struct log_input *input, uint32_t first, uint32_t end);

/* True if its program runs and has the log mapped. */
bool log_input_is_live(const struct log_input *input);

/* Transfers ownership to the input. ERROR_NOMEM or 0. */
int log_input_add_file(struct log_input *input, struct log_file_reader *file);

/* True if one of its files is a raw log. That log may be a copy from another machine. */
bool log_input_has_raw_file(const struct log_input *input);

/* For a log that was growing when it was opened: does its process or recorder still write it? */
bool log_input_still_grows(const struct log_input *input);

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

/* ---- segments of a live log (log_grown.c) ---- */

/* Call it before the live log `file` is listed. *ret_sequence: number of the next segment that the
 * program begins; 0: unknown. */
int log_grown_begin(struct log_input *input, struct log_file_reader *file, uint64_t *ret_sequence,
                    struct error *err);

/* Call it after the live log was listed. */
int log_grown_end(struct log_input *input, struct log_file_reader *file, struct error *err);

/* Copies the listed segments that were being filled. */
int log_grown_copy(struct log_input *input, struct log_segment_list *list, struct pack *pack,
                   struct error *err);

/* Reads an entry that has a copy. */
int log_grown_read_copy(const struct log_input *input, size_t index, void *payload);

/* Reads a segment that was recycled after it was listed, as its frame. ERROR_FORMAT: not found. */
int log_grown_read(struct log_input *input, size_t index, struct pack *pack, void *payload,
                   struct error *err);

void log_grown_done(struct log_input *input);

/* ---- rotated logs (log_grown.c) ---- */

/* Adds rotated log `number` after all files, if it belongs to the log. If it is removed
 * concurrently, the checkpoint that is read afterwards contains it (RI-1). A file whose header is
 * not written yet is empty. */
int log_grown_open_rotated(struct log_input *input, uint32_t number, struct text_arena *arena,
                           bool *ret_is_ours, struct error *err);

/* Closes the descriptor of a file if too many are open: without a follower a log has thousands of
 * rotated logs, more than a process may have descriptors. */
void log_grown_rest_rotated(const struct log_input *input, size_t index);

#endif
