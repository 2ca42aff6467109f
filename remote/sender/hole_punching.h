/* SPDX-License-Identifier: MIT */
/*
 * hole_punching: frees the disk space of a log that another machine has (--no-local).
 *
 * Whole frames that the receiver has on its disk become a hole, except the last HOLE_PUNCHING_KEPT
 * bytes, by which both sides resynchronize (wire_hash). A mark in place of the first frame says
 * where the rest begins (lib/logfile/log_header.h), for later readers and for a restarted sender.
 *
 * Invariants
 *   GB-1 Only bytes that the receiver reported as synced (SYNCED) are punched out.
 *   GB-2 The mark is on the disk before the hole is made.
 *   GB-3 A file is removed only if it is the one that was sent, its recorder has finished it, and
 *        all of it is on the receiver's disk.
 *
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_HOLE_PUNCHING_H
#define MTRACE_REMOTE_HOLE_PUNCHING_H

#include "remote/sender/sent_logs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HOLE_PUNCHING_KEPT = 256 * 1024,
    HOLE_PUNCHING_STEP = 2 * 1024 * 1024, /* minimum size of a hole */
};

/* Enough is acknowledged that the receiver should be asked to sync. */
bool hole_punching_is_due(const struct sent_log *log);

/* The receiver has everything below `synced` on its disk. false: the file system does not support
 * holes, and nothing was done. */
bool hole_punching_take(struct sent_log *log, uint64_t synced);

/* Removes the file of a log that was sent; false: it still exists. */
bool hole_punching_remove(const struct sent_log *log);

#endif
