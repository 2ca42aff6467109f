/* SPDX-License-Identifier: MIT */
/*
 * read_ahead: reads and unpacks the payloads of a set's segments in a separate thread, in their
 * order.
 *
 * At most READ_AHEAD_SEGMENTS loaded segments are queued. The user returns the memory of each with
 * read_ahead_release. In a frugal set (log_set_be_frugal) a segment is loaded when it is taken.
 *
 * Invariants
 *   RA-1 Segments come in the order of log_set.order, each once.
 *   RA-2 Memory: the queue, and what the user holds.
 *
 * Threads: one user; one thread inside. They take turns at reading files.
 * Errors: an unreadable segment comes with its error; ERROR_FORMAT concerns it alone.
 */
#ifndef MTRACE_IMPORTER_READ_AHEAD_H
#define MTRACE_IMPORTER_READ_AHEAD_H

#include "importer/read/log_set.h"

enum {
    READ_AHEAD_SEGMENTS = 12
};

struct loaded_segment {
    struct loaded_segment *next;
    size_t place; /* in log_set.order */
    size_t ref;   /* index in the input's segments: the entry that was read */
    int result;   /* 0 or a negative enum error_code, then err is set */
    struct error err;
    uint64_t *payload; /* LOG_SEGMENT_BYTES, page-aligned */
};

struct read_ahead;

int read_ahead_open(struct log_set *set, struct read_ahead **ret, struct error *err);
void read_ahead_close(struct read_ahead *ahead);

/* Waits for the next segment; NULL at the end. */
struct loaded_segment *read_ahead_take(struct read_ahead *ahead);

/* Reads the payload of a taken segment again, into `payload` (LOG_SEGMENT_BYTES). */
int read_ahead_again(struct read_ahead *ahead, const struct loaded_segment *segment,
                     uint64_t *payload, struct error *err);
void read_ahead_release(struct read_ahead *ahead, struct loaded_segment *segment);

#endif
