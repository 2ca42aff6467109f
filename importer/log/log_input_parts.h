/* SPDX-License-Identifier: MIT */
/*
 * log_input_parts: the inside of a log_input, for what is below it: log_generations.h and log_grown.h.
 *
 * Threads: as log_input.h says.
 */
#ifndef MTRACE_IMPORTER_LOG_INPUT_PARTS_H
#define MTRACE_IMPORTER_LOG_INPUT_PARTS_H

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
    struct log_file_reader **
        files; /* the packed one, generations of a bounded log, the pool; or a pool alone, and what was packed of it since it was opened */
    size_t n_files, files_capacity;
    size_t
        n_generations; /* listed: files[1] … files[n_generations]; what was begun since then comes behind the pool */
    uint32_t last_generation; /* that was opened; 0: none */
    bool is_growing;        /* its process or its recorder had not finished it when it was opened */
    bool had_writer;        /* the same, but it may have been finished while it was opened */
    bool has_lost_events;   /* some of it could not be read */
    struct log_file header; /* the latest of each field that its files know */
    struct clock_map clock;
    bool has_time_shift;      /* it is packed, or being packed, and how was seen */
    unsigned time_shift;      /* then; else 0 */
    uint64_t watermark_ticks; /* GR-3; 0: all of the pool is */
    struct log_names names;
    struct log_samples_ref *samples; /* in order of time */
    size_t n_samples, samples_capacity;
    struct log_segment_list segments;
    struct log_segment_list grown; /* packed since then; only what LI-2 needed was looked for */
    uint64_t **copies;             /* of segments of the pool, as they were when they were listed */
    size_t n_copies, copies_capacity;
};

/* The packed one, which names of its other files begin with; or the only one there is. */
static inline const struct log_file_reader *log_input_packed(const struct log_input *input)
{
    return input->files[input->n_files > 1 && input->files[0]->header.form == LOG_FORM_RAW];
}

/* Some of its events may be in a state alone (lib/logfile/log_rotation.h). */
static inline bool log_input_is_ring(const struct log_input *input)
{
    return (log_input_packed(input)->header.flags & LOG_FLAG_RING) != 0;
}

#endif
