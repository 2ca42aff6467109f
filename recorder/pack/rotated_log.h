/* SPDX-License-Identifier: MIT */
/*
 * generations: the packed events of a bounded log, in files that can be removed one by one (lib/logfile/log_rotation.h).
 *
 * Model:   frames go into LOG.gN until that has its part of log_rotation_bytes, then into the next. Who keeps up with the log removes those that it
 *          has taken in (importer/cli/follower.h); we never do, but for what another recording of that name left. Where nobody removes any, or
 *          more slowly than they come, no more are written than log_rotation_most_bytes says: what else there is waits in the live log, and is dropped and
 *          counted there when that is full, too.
 * Invariants
 *   GN-1 Each begins with the header of the log, so that it is known whose it is.
 *   GN-2 A frame is whole in one of them. After a failed write the next one goes to the same place.
 *   GN-3 While its programs run, all generations of a run take at most log_rotation_most_bytes, whatever others do. At the end of a process the rest of its live
 *        log is added.
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

/* All logs of one run, which have one bound. All zero but for the path. */
struct rotated_log_run {
    const char *log_path;   /* the first one's; the caller's */
    uint64_t written_bytes; /* ever, to generations */
    uint64_t there_bytes;   /* as of the last look at the folder, and those written since */
    uint64_t most_bytes;    /* as of then */
    uint64_t look_ns;       /* when the next one may be */
    bool
        was_disk_full; /* a frame could not be written, or none might be while the disk had no room for a state */
};

struct rotated_log {
    const char *log_path; /* the caller's */
    struct rotated_log_run *run;
    struct packed_log current;
    int64_t most_bytes; /* of one of them */
    uint32_t number;    /* of it; 0: none was begun */
    bool is_full;       /* the last frame would have gone beyond the bound */
    bool is_ending;     /* which does not hold any more */
};

/* Before the log is made: has somebody something else where its generations and its state will be? ERROR_EXISTS. */
int rotated_log_check(const char *log_path, struct error *err);

void rotated_log_init(struct rotated_log *generations, const char *log_path,
                      struct rotated_log_run *run);

/* Closes; the files stay. All zero is fine. */
void rotated_log_done(struct rotated_log *generations);

/* A frame could not be written, as err says: was the disk full? */
void rotated_log_note_failure(struct rotated_log_run *run, const struct error *err);

/* As packed_log_append, but that err must not be NULL. `file`: the log's header as of now. */
int rotated_log_append(struct rotated_log *generations, const struct log_file *file,
                       const void *frame, size_t n_bytes, struct error *err);

#endif
