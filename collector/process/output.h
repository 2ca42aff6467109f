/* SPDX-License-Identifier: MIT */
/*
 * output: creates or maps the log of this process image.
 *
 * Model:   under mtrace-record the first image uses the recorder's pool; every other one makes a
 *          growing raw log of its own. Names: MTRACE_OUTPUT expanded; for fork children and exec'd
 *          images the ancestor's name + ".<pid>.<image>", with ".live" under a recorder.
 *          A first log that cannot be made or mapped where it is asked for goes to the directory for
 *          temporary files, or else to /dev/shm. A later one that the recorder will pack goes to
 *          /dev/shm, with a link where it should be, also where reserved space may be missing
 *          (file_systems.h).
 * Invariants
 *   OU-1 No file is truncated. An older finished log of the same name is unlinked first, any other
 *        file of that name is left alone and the log gets the name + ".<pid>.<image>".
 *   OU-2 The header's magic is stored last.
 *   OU-3 No two logs of a run are packed into one file: a name is taken only where none is packed.
 * Failure: false, with the reason reported (message.h).
 */
#ifndef MTRACE_COLLECTOR_OUTPUT_H
#define MTRACE_COLLECTOR_OUTPUT_H

#include "collector/os/config.h"

#include <stdbool.h>
#include <stdint.h>

/* What is known about the process that made this one, when that was recorded, too. */
struct output_parent {
    const char *path; /* its log; NULL = this is the first of its run */
    uint64_t run_id;
    uint32_t pid;
    bool is_forked_from; /* its memory is ours, too */
};

/* Makes the log, attaches segment.h to it. */
bool output_open(const struct config *config, const struct output_parent *parent);

/* Path of this log; and of the first log of the run, after which all others are named. */
const char *output_path(void);
const char *output_first_path(void);

/* The name that a child's first image will give its log. */
void output_child_path(const struct config *config, uint32_t pid, struct fmt *out);

#endif
