/* SPDX-License-Identifier: MIT */
/*
 * rotated_log: the packed events of a bounded log, in files that can be removed one by one
 * (log_rotation.h).
 *
 * Frames go into LOG.gN until it has its share of log_rotation_bytes, then into the next file. The
 * follower removes files that it has read (importer/cli/follower.h); the recorder removes only
 * leftovers of another recording of that name. If files are removed too slowly, writing stops at
 * log_rotation_max_bytes; further events wait in the live log, and are dropped and counted there
 * when it is full.
 *
 * Invariants
 *   GN-1 Each file begins with the header of the log, which identifies its owner.
 *   GN-2 A frame is complete within one file; after a failed write the next one goes to the same
 *        place.
 *   GN-3 While programs run, all rotated files of a run take at most log_rotation_max_bytes.
 *
 * Notes: When a process ends, the rest of its live log is added without regard to GN-3.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_ROTATED_LOG_H
#define MTRACE_RECORDER_ROTATED_LOG_H

#include "lib/abi/log_format.h"
#include "lib/base/error.h"
#include "recorder/pack/packed_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All logs of one run, which share one limit. All zero but for the path. */
struct rotated_log_run {
    const char *log_path;   /* the first one's; the caller's */
    uint64_t written_bytes; /* in total, to rotated files */
    uint64_t there_bytes;   /* at the last look at the folder, plus what was written since */
    uint64_t max_bytes;     /* at that time */
    uint64_t look_ns;       /* when the next look may be */
    bool was_disk_full;     /* for a frame, or for a checkpoint while writing was stopped */
};

struct rotated_log {
    const char *log_path; /* the caller's */
    struct rotated_log_run *run;
    struct packed_log current;
    int64_t max_bytes; /* limit of one file */
    uint32_t number;   /* of the current file; 0: none yet */
    bool is_full;      /* the last frame would have exceeded the limit */
    bool is_ending;    /* the limit does not apply any more */
};

/* Call before the log is created. ERROR_EXISTS: a rotated file or checkpoint would replace a
 * foreign file. */
int rotated_log_check(const char *log_path, struct error *err);

void rotated_log_init(struct rotated_log *rotated, const char *log_path,
                      struct rotated_log_run *run);

/* Closes; the files stay. Takes an all-zero log. */
void rotated_log_done(struct rotated_log *rotated);

/* A frame could not be written because of err; notes whether the disk was full. */
void rotated_log_note_failure(struct rotated_log_run *run, const struct error *err);

/* Like packed_log_append, but err must not be NULL. `file`: the current header of the log. */
int rotated_log_append(struct rotated_log *rotated, const struct log_header *file,
                       const void *frame, size_t n_bytes, struct error *err);

#endif
