/* SPDX-License-Identifier: MIT */
/*
 * progress: one line on a terminal that says what is being done, how far it is and how long it will
 * take; and the place where long work asks whether it was told to stop.
 *
 * Model:   work is done in phases, each with its own total. The line is redrawn at most ten times a
 *          second and taken away at the end.
 * Invariants: PR-1 without a stream nothing is ever written; PR-2 a phase ends at 100 %.
 * Threads: one.
 * Failure: progress_update says ERROR_INTERRUPTED when *interrupted is not 0.
 */
#ifndef MTRACE_LIB_PROGRESS_H
#define MTRACE_LIB_PROGRESS_H

#include "lib/base/error.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *stream;                             /* NULL: say nothing */
    const volatile sig_atomic_t *interrupted; /* NULL: nobody interrupts */
    const char *phase;
    const char *unit;
    uint64_t started_ns, drawn_ns;
};

/* stream is a terminal, or NULL. */
void progress_init(struct progress *progress, FILE *stream,
                   const volatile sig_atomic_t *interrupted);

/* `phase` is a verb ("reading"), `unit` what is counted ("events"); both static. */
void progress_begin(struct progress *progress, const char *phase, const char *unit);

/* Cheap enough for every few thousand steps. Returns 0 or ERROR_INTERRUPTED. */
int progress_update(struct progress *progress, uint64_t n_done, uint64_t n_total,
                    struct error *err);

/* Draws the phase at 100 % and takes the line away. */
void progress_end(struct progress *progress, uint64_t n_done);

#endif
