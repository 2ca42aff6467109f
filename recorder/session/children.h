/* SPDX-License-Identifier: MIT */
/*
 * children: the logs of later images of the program and of its children, packed while they grow.
 *
 * Model:   each recorded image behind an exec, and each child that is followed, makes a raw log
 *          FILE.PID.N.live beside FILE; each becomes a recording of its own, finished when its
 *          process is gone, or has executed another program. inotify tells of those of children (without it,
 *          and when it had more to tell than it keeps, the folder is read); those of the program itself are looked for by their names.
 * Invariants
 *   CH-1 A log is finished only when nobody can write to it any more; where that cannot be known (RU-1) it stays live.
 *   CH-2 A log that cannot be packed stays as it is: raw logs can be imported.
 *        One that lacks room beside it is tried again until the end; one that never began for want of room is said to be so, by
 *        the word that was left of it in this run.
 *   CH-3 While other processes run, nobody is waited for: a log is finished when what answered for it has ended.
 *   CH-4 How a process ended is in its log if it is our child: the program's pid after exec, and
 *        orphans of --wait. Of others it is seen only in the moment before their parent hears it.
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_CHILDREN_H
#define MTRACE_RECORDER_CHILDREN_H

#include "recorder/session/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct children;
struct error;

/* Calls `see` with each recording whose process has not ended, while it returns true. */
typedef bool children_see(void *context, struct recording *recording);
void children_each(struct children *children, children_see *see, void *context);

/* `path` is FILE, absolute; the program itself has `program_pid`, also when it executes another.
 * `is_following`: not only that one. NULL without memory. */
struct children *children_new(const char *path, pid_t program_pid, bool is_following,
                              const struct recording_settings *settings);

/* Finishes nothing: logs that are still open stay raw. Takes NULL. */
void children_free(struct children *children);

/* Does what is due; returns how many segments were moved. */
uint32_t children_step(struct children *children, uint64_t now_ns);

/* When the next sample of the memory of one of them is due, CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t children_samples_due_ns(const struct children *children);

/* How a process ended that was our child. Logs of the program's pid wait for that; NULL: it was not our child, and nobody knows. */
void children_note_end(struct children *children, pid_t pid, const struct recording_end *end);

/* After the program ended: finds what inotify did not tell and finishes what can be without waiting. Returns
 * how many recorded processes are still running. */
uint32_t children_settle(struct children *children, uint64_t now_ns);

/* Finishes those that are over, and lets those that still run go on without us. */
void children_abandon(struct children *children);

/* Sums over all logs of processes that have ended, also those that could not be packed; *ret_n_logs: of those that were. */
void children_get_totals(const struct children *children, struct recording_totals *ret_totals,
                         uint32_t *ret_n_logs);

/* How many logs of processes that have ended stay raw (CH-2); *ret_err: why one of them does, also if it is none. Behind children_abandon. */
uint32_t children_get_unpacked(const struct children *children, struct error *ret_err);

#endif
