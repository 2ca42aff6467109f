/* SPDX-License-Identifier: MIT */
/*
 * giving_back: the space of a log here, while another machine has it (--no-local).
 *
 * Model:   what the receiver has on its disk becomes a hole, in whole frames, all but the last HOLE_PUNCHING_KEPT bytes of it, by which both sides
 *          find each other again (wire_hash). A mark in place of the first frame says where the rest begins (lib/process/punched_hole.h), so that
 *          whoever looks at the file later, also a sender that was started again, knows.
 * Invariants
 *   GB-1 Nothing is given back that the receiver has not said to be on its disk (SYNCED).
 *   GB-2 The mark is on the disk before the hole is made.
 *   GB-3 A file is removed only if it is the one that was sent, its recorder has finished it, and all of it is on the receiver's disk.
 * Threads: one.
 */
#ifndef MTRACE_REMOTE_HOLE_PUNCHING_H
#define MTRACE_REMOTE_HOLE_PUNCHING_H

#include "remote/sender/sent_logs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HOLE_PUNCHING_KEPT = 256 * 1024,
    HOLE_PUNCHING_STEP = 2 * 1024 * 1024, /* so much is worth it */
};

/* Is so much acknowledged that the receiver should be asked to bring it to the disk? */
bool hole_punching_is_due(const struct sent_log *log);

/* The receiver has all below `synced` on the disk. false: the file system has no holes, and nothing was done. */
bool hole_punching_take(struct sent_log *log, uint64_t synced);

/* Removes the file of a log that was sent; false: it is still there. */
bool hole_punching_remove(const struct sent_log *log);

#endif
