/* SPDX-License-Identifier: MIT */
/*
 * log_input_parts: struct log_input, for log_generations and log_grown.
 *
 * Threads: as in log_input.h.
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
    /* packed file, rotated logs, pool; or a pool alone, then files packed since it was opened */
    struct log_file_reader **files;
    size_t n_files, files_capacity;
    /* listed ones: files[1] … files[n_generations]; later ones follow the pool */
    size_t n_generations;
    uint32_t last_generation; /* the last one that was opened; 0: none */
    bool is_growing;          /* it was still being written when it was opened */
    bool had_writer;          /* the same, but it may have been finished during opening */
    bool has_lost_events;     /* a part of it was unreadable */
    struct log_file header;   /* the latest value of each field */
    struct clock_map clock;
    bool has_time_shift;      /* time_shift is known: it is or was being packed */
    unsigned time_shift;      /* then; else 0 */
    uint64_t watermark_ticks; /* GR-3; 0: the whole pool */
    struct log_names names;
    struct log_samples_ref *samples; /* sorted by time */
    size_t n_samples, samples_capacity;
    struct log_segment_list segments;
    struct log_segment_list grown; /* packed since then; searched for LI-2 only */
    uint64_t **copies;             /* of pool segments as they were listed */
    size_t n_copies, copies_capacity;
};

/* The packed file, whose name the other names begin with; or the only file. */
static inline const struct log_file_reader *log_input_packed(const struct log_input *input)
{
    return input->files[input->n_files > 1 && input->files[0]->header.form == LOG_FORM_RAW];
}

/* The log is bounded: some events may be only in its checkpoint (lib/logfile/log_rotation.h). */
static inline bool log_input_is_ring(const struct log_input *input)
{
    return (log_input_packed(input)->header.flags & LOG_FLAG_RING) != 0;
}

#endif
