/* SPDX-License-Identifier: MIT */
/*
 * output: creates or maps the log of this process image.
 *
 * Under mtrace-record the first image uses the recorder's live log; every other image creates a
 * growing raw log. Names: MTRACE_OUTPUT expanded; for fork children and exec'd images the first
 * log's name + ".<pid>.<image>", and ".live" under a recorder.
 *
 * A first log that cannot be created or mapped goes to the directory for temporary files, or else
 * to /dev/shm. A later log that the recorder will pack goes to /dev/shm, with a link at its place,
 * also if reserved space may be missing (file_systems.h).
 *
 * Invariants
 *   OU-1 No file is truncated. A finished log of the same name is unlinked first. Any other file of
 *        that name stays, and the log gets the name + ".<pid>.<image>".
 *   OU-2 The header's magic is stored last.
 *   OU-3 No two logs of a run are packed into one file: a name is taken only if no packed log has
 *        it.
 *
 * Failure: false, and the reason is reported (definition.h).
 */
#ifndef MTRACE_COLLECTOR_OUTPUT_H
#define MTRACE_COLLECTOR_OUTPUT_H

#include "collector/os/config.h"

#include <stdbool.h>
#include <stdint.h>

/* The process that created this one, if it was recorded, too. */
struct output_parent {
    const char *path; /* its log; NULL = this is the first of its run */
    uint64_t run_id;
    uint32_t pid;
    bool is_forked_from; /* its memory is ours, too */
};

/* Creates or maps the log and attaches segment.h to it. */
bool output_open(const struct config *config, const struct output_parent *parent);

/* Path of this log, and of the first log of the run, after which the others are named. */
const char *output_path(void);
const char *output_first_path(void);

/* Appends the name that the first image of a child gives its log. */
void output_child_path(const struct config *config, uint32_t pid, struct fmt *out);

#endif
