/* SPDX-License-Identifier: MIT */
/*
 * sync_points: synchronization points, at which a reader looks at the state of all threads of a
 * process: a phase or window begins or ends, a marker is set, objects are walked, the process forks
 * or ends. Elided blocks of any thread must not cross one, because their totals have one time.
 *
 * Times are in ticks, sorted when needed, without duplicates: events arrive thread by thread, and
 * those of FALLBACK segments are read repeatedly.
 *
 * Invariants
 *   IN-1 Every point that was added and is not before the last sync_points_forget is found.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_SYNC_POINTS_H
#define MTRACE_RECORDER_SYNC_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: none. */
struct sync_points {
    uint64_t *ticks;
    size_t n, capacity;
    size_t n_sorted; /* the rest is not sorted yet */
};

void sync_points_done(struct sync_points *sync_points);

/* Events of this kind are synchronization points. */
bool sync_points_is_of(unsigned kind);

/* False without memory. */
bool sync_points_add(struct sync_points *sync_points, uint64_t ticks);

/* The first one at or after `ticks`; UINT64_MAX: none. */
uint64_t sync_points_next(struct sync_points *sync_points, uint64_t ticks);

/* Drops points before this time, which the caller no longer needs. */
void sync_points_forget(struct sync_points *sync_points, uint64_t before_ticks);

#endif
