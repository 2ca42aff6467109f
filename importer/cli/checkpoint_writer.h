/* SPDX-License-Identifier: MIT */
/*
 * checkpoint_writer: imports the events of a bounded log, writes checkpoints, and removes what they
 * contain (lib/logfile/log_rotation.h).
 *
 * A checkpoint is due when the rotated logs have grown by log_rotation_bytes or by the size of the
 * last checkpoint, whichever is more. So checkpoints never cost more writes than events. Then those
 * rotated logs are removed that have nothing after the checkpoint's mark.
 *
 * Invariants
 *   SK-1 A rotated log is removed only after a checkpoint that contains all of it is on disk under
 *        its name. So whichever process is killed, each event is in a rotated log, the live log or
 *        the checkpoint.
 *   SK-2 Rotated logs are removed in order, and the checkpoint contains the number of the first one
 *        left. The last one is removed only if its log has its end: its recorder may be writing to
 *        it.
 *   SK-3 Beside definitions and the checkpoint, the log has at most twice the bytes that make a
 *        checkpoint due, and what is written during one import.
 *   SK-4 Space for the next checkpoint, 1.5 times the last one, is reserved on disk, so that
 *        rotated logs can be removed when the disk is full. It is the file of the checkpoint before
 *        the last one, which is never freed in between: a process that waits for space would take
 *        it immediately. When space is low, checkpoints are more frequent.
 *   SK-5 If a checkpoint leaves a backlog because the mark was too old, another import follows when
 *        the mark can be after all of it, even if nothing more is written. So the events of a
 *        stopped program are removed, too.
 *
 * Threads: one. On failure nothing is removed; the next attempt tries again.
 */
#ifndef MTRACE_IMPORTER_CHECKPOINT_WRITER_H
#define MTRACE_IMPORTER_CHECKPOINT_WRITER_H

#include "importer/cli/incremental_import.h"

#include <stdbool.h>
#include <stdint.h>

struct checkpoint_writer {
    const char *log_path;
    uint64_t checkpoint_io_bytes; /* size of the last checkpoint */
    uint64_t left_bytes;          /* size of the rotated logs after the last import */
    struct state_writer *next;    /* SK-4; NULL: not open */
    struct state_writer
        *spare;        /* for the second checkpoint, since the first replaces none; NULL: none */
    uint64_t hurry_ns; /* earliest time of one that is due to low disk space or a backlog */
};

/* Reserves space for the first checkpoints. */
void checkpoint_writer_begin(struct checkpoint_writer *follower, const char *log_path);

/* Before the first advance: loads the log's checkpoint, if there is one. */
int checkpoint_writer_load(struct checkpoint_writer *follower,
                           struct incremental_import *incremental, struct error *err);

/* True if there are enough new events, or little enough disk space, for an import. */
bool checkpoint_writer_is_due(const struct checkpoint_writer *follower);

/* After an advance, with the lock for removal (log_rotation.h): writes a checkpoint and removes the
 * rotated logs that it contains. May be repeated after a failure. */
int checkpoint_writer_save(struct checkpoint_writer *follower,
                           struct incremental_import *incremental, struct error *err);

/* Accepts a zeroed struct. */
void checkpoint_writer_done(struct checkpoint_writer *follower);

#endif
