/* SPDX-License-Identifier: MIT */
/*
 * sample_stream: what the recorder saw from outside, process by process, as events go on.
 *
 * Model:   a cursor per process over its frames of samples; one frame of it is in memory.
 * Invariants
 *   ST-1 The samples of a process come in the order in which they were taken, none behind the end that the set was asked for.
 *   ST-2 Memory: 32 bytes per process, and one frame for each that has samples left.
 * Threads: one user; an event stream of the same set may be read meanwhile.
 * Failure: memory and reading. Frames that are damaged are left out.
 */
#ifndef MTRACE_IMPORTER_SAMPLE_STREAM_H
#define MTRACE_IMPORTER_SAMPLE_STREAM_H

#include "importer/read/log_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sample the recorder took from outside. */
struct sample {
    uint32_t process;
    uint64_t time_ns;
    enum log_sample_kind kind;
    uint64_t a, b, c; /* as in struct log_sample */
};

typedef int sample_fn(void *context, const struct sample *sample);

struct sample_stream;

/* How far the samples of a process were handed out; all zero: none of them. */
struct sample_place {
    size_t frame, at;
    /* The same by time, where frames may be gone: behind the first n_at samples of last_ns (CLOCK_MONOTONIC). */
    uint64_t last_ns, n_at;
    bool is_by_time;
};

/* The set must live as long. Close with sample_stream_close. from, by process - 1: where to go on; NULL: at the first. */
int sample_stream_open(struct log_set *set, const struct sample_place *from,
                       struct sample_stream **ret, struct error *err);

/* Where a stream that is opened later is to go on. */
struct sample_place sample_stream_place(const struct sample_stream *stream, uint32_t process);

/* NULL is fine. */
void sample_stream_close(struct sample_stream *stream);

/* When the next sample of the process was taken; UINT64_MAX behind its last. */
uint64_t sample_stream_time(const struct sample_stream *stream, uint32_t process);

/* Hands out the samples of the process up to until_ns. Ends early with what on_sample returns
 * unless that is 0. */
int sample_stream_read(struct sample_stream *stream, uint32_t process, uint64_t until_ns,
                       sample_fn *on_sample, void *context, struct error *err);

#endif
