/* SPDX-License-Identifier: MIT */
/*
 * sample_stream: the samples that the recorder took from outside, process by process, parallel to
 * the events.
 *
 * Each process has a cursor over its frames of samples; one frame of it is in memory.
 * Invariants
 *   ST-1 The samples of a process come in the order in which they were taken, none after the end
 *        that the options of the set want.
 *   ST-2 Memory: 32 bytes per process, and one frame for each that has samples left.
 *
 * Threads: one user; an event stream of the same set may be read at the same time.
 * Errors: memory and reading. Damaged frames are skipped.
 */
#ifndef MTRACE_IMPORTER_SAMPLE_STREAM_H
#define MTRACE_IMPORTER_SAMPLE_STREAM_H

#include "importer/read/log_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sample that the recorder took from outside. */
struct sample {
    uint32_t process;
    uint64_t time_ns;
    enum log_sample_kind kind;
    uint64_t a, b, c; /* as in struct log_sample */
};

typedef int sample_fn(void *context, const struct sample *sample);

struct sample_stream;

/* Position in the samples of a process; all zero: at the first. */
struct sample_place {
    size_t frame, at;
    /* The position by time, in case frames were removed: after the first n_at samples of last_ns
     * (CLOCK_MONOTONIC). */
    uint64_t last_ns, n_at;
    bool is_by_time;
};

/* The set must live longer. Close with sample_stream_close. from: positions by process - 1; NULL:
 * at the first. */
int sample_stream_open(struct log_set *set, const struct sample_place *from,
                       struct sample_stream **ret, struct error *err);

/* Position at which a later stream continues. */
struct sample_place sample_stream_place(const struct sample_stream *stream, uint32_t process);

/* Accepts NULL. */
void sample_stream_close(struct sample_stream *stream);

/* Time of the process's next sample; UINT64_MAX after the last. */
uint64_t sample_stream_time(const struct sample_stream *stream, uint32_t process);

/* Passes the samples of the process up to until_ns to on_sample. Stops if that returns non-zero,
 * and returns this value. */
int sample_stream_read(struct sample_stream *stream, uint32_t process, uint64_t until_ns,
                       sample_fn *on_sample, void *context, struct error *err);

#endif
