/* SPDX-License-Identifier: MIT */
/*
 * children: packs the logs of the program's later images and of its child processes while they
 * grow.
 *
 * Each recorded image after an exec, and each child that is followed, writes a raw log
 * FILE.PID.N.live beside FILE. Each becomes a recording of its own, which is finished when its
 * process has exited or executed another program. inotify reports new logs of children; without
 * inotify, or after its queue overflowed, the folder is read. Logs of the program itself are looked
 * up by name.
 *
 * Invariants
 *   CH-1 A log is finished only if no process can write to it any more; if that is unknown (RU-1),
 *        it stays live.
 *   CH-2 A log that cannot be packed stays raw, and can be imported. After ENOSPC it is tried again
 *        until the end.
 *   CH-3 A log is finished when its own process has ended; other running processes do not delay
 *        that.
 *   CH-4 The exit status is logged for our child processes: the program's PID after exec, and
 *        orphans of --wait.
 *
 * Notes: For other processes the exit status is visible only until their parent reaps them. A log
 * that could not begin because the disk was full has a symbolic link in its place, by which it is
 * reported.
 *
 * Threads: one.
 */
#ifndef MTRACE_RECORDER_CHILDREN_H
#define MTRACE_RECORDER_CHILDREN_H

#include "recorder/session/recording.h"

#include <stdbool.h>
#include <stdint.h>

struct children;
struct error;

/* Calls `see` with each recording whose process has not ended, until it returns false. */
typedef bool children_see(void *context, struct recording *recording);
void children_each(struct children *children, children_see *see, void *context);

/* `path` is FILE, absolute. `program_pid` is the program's PID, which an exec keeps.
 * `is_following`: also follow child processes. NULL without memory. */
struct children *children_new(const char *path, pid_t program_pid, bool is_following,
                              const struct recording_settings *settings);

/* Does not finish logs: open ones stay raw. Takes NULL. */
void children_free(struct children *children);

/* Does what is due; returns the number of segments moved. */
uint32_t children_step(struct children *children, uint64_t now_ns);

/* CLOCK_MONOTONIC time at which the next memory sample of any recording is due; UINT64_MAX:
 * never. */
uint64_t children_samples_due_ns(const struct children *children);

/* The exit status of a process that was our child. Logs of the program's PID wait for it. `end`
 * NULL: it was not our child, so the status is unknown. */
void children_note_end(struct children *children, pid_t pid, const struct recording_end *end);

/* Call after the program ended. Finds logs that inotify did not report and finishes those that need
 * no waiting. Returns the number of recorded processes that still run. */
uint32_t children_settle(struct children *children, uint64_t now_ns);

/* Finishes logs of processes that have ended. Processes that still run continue without a
 * recorder. */
void children_abandon(struct children *children);

/* Sums over all logs of ended processes, including those that could not be packed. *ret_n_logs: the
 * number of packed logs. */
void children_get_totals(const struct children *children, struct recording_totals *ret_totals,
                         uint32_t *ret_n_logs);

/* The number of logs of ended processes that stay raw (CH-2). *ret_err: the reason for one of them,
 * set also if the result is 0. Call after children_abandon. */
uint32_t children_get_unpacked(const struct children *children, struct error *ret_err);

#endif
