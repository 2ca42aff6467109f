/* SPDX-License-Identifier: MIT */
/*
 * progress: a progress line on a terminal, and the check for interruption of long work.
 *
 * Work has phases, each with its own total. The line shows the phase, how far it is and the time
 * left. It is redrawn at most ten times a second and erased at the end.
 *
 *   PR-1 Without a stream nothing is ever written.
 *   PR-2 A phase ends at 100 %.
 *
 * Not thread-safe. progress_update returns ERROR_INTERRUPTED if *interrupted is not 0.
 */
#ifndef MTRACE_LIB_PROGRESS_H
#define MTRACE_LIB_PROGRESS_H

#include "lib/base/error.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *stream;                             /* NULL: no output */
    const volatile sig_atomic_t *interrupted; /* NULL: never interrupted */
    const char *phase;
    const char *unit;
    uint64_t started_ns, drawn_ns;
};

/* stream: a terminal, or NULL. */
void progress_init(struct progress *progress, FILE *stream,
                   const volatile sig_atomic_t *interrupted);

/* `phase` is a verb ("reading"), `unit` what is counted ("events"); both static. */
void progress_begin(struct progress *progress, const char *phase, const char *unit);

/* Cheap enough for every few thousand steps. Returns 0 or ERROR_INTERRUPTED. */
int progress_update(struct progress *progress, uint64_t n_done, uint64_t n_total,
                    struct error *err);

/* Draws the phase at 100 % and erases the line. */
void progress_end(struct progress *progress, uint64_t n_done);

#endif
