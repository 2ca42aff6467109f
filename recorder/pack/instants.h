/* SPDX-License-Identifier: MIT */
/*
 * instants: at which somebody looks at what all threads of a process have: a phase or a window begins or ends, a marker is put, objects are walked over,
 * the process forks or ends. What is left out of a log must not span one, whichever thread it is of: what it amounts to stands at one time.
 *
 * Model:   ticks, put in rising order, and each told once, when somebody asks: what comes is read thread by thread, and what is in SIDE segments again and again.
 * Invariants
 *   IN-1 Of instants that were added, none that is not before the last instants_forget is missing.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_INSTANTS_H
#define MTRACE_RECORDER_INSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: none. */
struct instants {
    uint64_t *ticks;
    size_t n, capacity;
    size_t n_sorted; /* the others are not in order yet */
};

void instants_done(struct instants *instants);

/* Is an event of this kind one? */
bool instants_is_of(unsigned kind);

/* False without memory. */
bool instants_add(struct instants *instants, uint64_t ticks);

/* The first one from then on; UINT64_MAX: there is none. */
uint64_t instants_next(struct instants *instants, uint64_t ticks);

/* Nobody asks about what was before. */
void instants_forget(struct instants *instants, uint64_t before_ticks);

#endif
