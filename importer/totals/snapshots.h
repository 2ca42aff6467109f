/* SPDX-License-Identifier: MIT */
/*
 * snapshots: live blocks and bytes of each stack at regular times of a process, at its peak and its
 * end.
 *
 * Regular times are multiples of 2^shift ns of recorded time: windows count as if one followed the
 * other directly, so a short window gets as many snapshots as a long life. After SNAPSHOTS_MAX of
 * them, every other one is dropped and the distance doubles, so the length of the recording need
 * not be known. A snapshot stores the stacks that changed since the previous one; changes of a
 * dropped one move to the next. They are spooled to a temporary file and emitted at the end,
 * process by process.
 *
 * Invariants
 *   SN-1 A regular snapshot shows what is live at its time, including all events of that time.
 *   SN-2 There are SNAPSHOTS_MAX / 2 to SNAPSHOTS_MAX - 1 (fewer for very short processes). None is
 *        in the last 1/SNAPSHOTS_TAIL of a process's life, when programs clean up.
 *   SN-3 Times and contents depend on the events alone, not on how often snapshots_advance is
 *        called.
 *   SN-4 Memory: 16 bytes per stack while snapshots are dropped, 24 while they are emitted.
 *
 * Threads: one at a time.
 * Errors: memory, the temporary file, or those of the sink.
 */
#ifndef MTRACE_IMPORTER_SNAPSHOTS_H
#define MTRACE_IMPORTER_SNAPSHOTS_H

#include "importer/log/checkpoint_io.h"
#include "importer/totals/totals.h"
#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SNAPSHOTS_MAX = 128, /* each 64th of a life, the unit of leak patterns, has one */
    SNAPSHOTS_TAIL = 64, /* the last 64th */
};

/* A row of snapshot_backtraces. */
struct snapshot_stack {
    uint64_t snapshot_id;
    uint64_t live_bytes, live_blocks;
    uint32_t backtrace;
};

struct snapshot {
    uint64_t id; /* from 1, in the order of emission */
    uint64_t at_ns;
    const char *reason; /* 'regular', 'peak' or 'end' */
    uint32_t process;
    size_t n_stacks;
    const struct snapshot_stack
        *stacks; /* sorted by backtrace, unless snapshots_leave_order was called */
};

typedef int snapshots_fn(void *context, const struct snapshot *snapshot, struct error *err);

struct snapshots;

/* The temporary file is created next to `target`. */
int snapshots_new(uint32_t n_processes, const char *target, snapshots_fn *reported, void *context,
                  struct snapshots **ret, struct error *err);

/* Stacks are emitted in any order. */
void snapshots_leave_order(struct snapshots *snapshots);

/* NULL is fine. */
void snapshots_free(struct snapshots *snapshots);

/* Starts recording of the process; earlier plans and snapshots of it are discarded. */
void snapshots_plan(struct snapshots *snapshots, uint32_t process, uint64_t start_ns);

/* Time of the next snapshot: before it snapshots_advance does nothing. */
uint64_t snapshots_next_ns(const struct snapshots *snapshots, uint32_t process);

/* Advances the time of the process to now_ns and takes the snapshots before it. Call after
 * totals_advance and before events of now_ns are counted. */
int snapshots_advance(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                      uint64_t now_ns, struct error *err);

/* Recording is off from snapshots_pause to snapshots_resume. Call snapshots_advance to now_ns
 * first. Repeated calls have no effect. */
void snapshots_pause(struct snapshots *snapshots, uint32_t process, uint64_t now_ns);
void snapshots_resume(struct snapshots *snapshots, uint32_t process, uint64_t now_ns);

/* Emits all snapshots of the process: the regular ones, 'peak' (if anything was ever live) and
 * 'end'. After totals_finish. Stores the ids of the last two in *ret_peak_id (0: none) and
 * *ret_end_id. */
int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err);

/* Saves the snapshots, or loads them into new ones (checkpoint_io.h). The totals are those of the
 * checkpoint, with as many processes. */
void snapshots_visit(struct snapshots *snapshots, const struct totals *totals,
                     struct checkpoint_io *io);

#endif
