/* SPDX-License-Identifier: MIT */
/*
 * snapshots: what each stack had live at regular instants of a process, at its peak and at its end.
 *
 * Model:   regular instants are whole multiples of 2^shift ns of the time in which allocations are recorded,
 *          which is all of the process's, or its windows one after another: a short window has as many as a long life. When
 *          SNAPSHOTS_MAX of them have passed, every other one is left out and they are twice as far
 *          apart: no length of the recording need be known. A snapshot holds the stacks that changed
 *          since the one before; changes of one that is left out go to the next. All is put aside in
 *          a temporary file and told at the end, process by process.
 * Invariants
 *   SN-1 A regular snapshot says what is live at its instant, all events of it included.
 *   SN-2 At least half of SNAPSHOTS_MAX, but for the very short processes, and fewer than that. None lies in
 *        the last SNAPSHOTS_TAIL of the process's life, where programs clear up.
 *   SN-3 Which instants there are, and what is told of each, depends on the events alone, not on how often
 *        time was told to go on.
 *   SN-4 Memory: 16 bytes per stack while some are left out, 24 while one is told.
 * Threads: none.
 * Failure: memory, the temporary file, or what the sink returned.
 */
#ifndef MTRACE_IMPORTER_SNAPSHOTS_H
#define MTRACE_IMPORTER_SNAPSHOTS_H

#include "importer/log/checkpoint_io.h"
#include "importer/totals/totals.h"
#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SNAPSHOTS_MAX = 128, /* so that each 64th of a life, by which patterns are judged, has one */
    SNAPSHOTS_TAIL = 64, /* the last 64th */
};

/* A row of snapshot_backtraces. */
struct snapshot_stack {
    uint64_t snapshot_id;
    uint64_t live_bytes, live_blocks;
    uint32_t node;
};

struct snapshot {
    uint64_t id; /* from 1, in the order in which they are told */
    uint64_t at_ns;
    const char *reason; /* 'regular', 'peak' or 'end' */
    uint32_t process;
    size_t n_stacks;
    const struct snapshot_stack *stacks; /* by node, unless snapshots_leave_order was called */
};

typedef int snapshots_fn(void *context, const struct snapshot *snapshot, struct error *err);

struct snapshots;

/* The temporary file lies beside `target`. */
int snapshots_new(uint32_t n_processes, const char *target, snapshots_fn *reported, void *context,
                  struct snapshots **ret, struct error *err);

/* Who is told puts stacks in order, or needs none. */
void snapshots_leave_order(struct snapshots *snapshots);

/* NULL is fine. */
void snapshots_free(struct snapshots *snapshots);

/* The process begins to be recorded; what was planned or taken before is forgotten. */
void snapshots_plan(struct snapshots *snapshots, uint32_t process, uint64_t start_ns);

/* The process's next one lies there: until time is behind it, snapshots_advance does nothing. */
uint64_t snapshots_next_ns(const struct snapshots *snapshots, uint32_t process);

/* Time of the process goes on to now_ns: takes the snapshots that lie before it. To be called
 * after totals_advance and before anything of now_ns is counted. */
int snapshots_advance(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                      uint64_t now_ns, struct error *err);

/* Of the time from the one to the other nothing is recorded. After snapshots_advance to now_ns; twice is once. */
void snapshots_pause(struct snapshots *snapshots, uint32_t process, uint64_t now_ns);
void snapshots_resume(struct snapshots *snapshots, uint32_t process, uint64_t now_ns);

/* Tells all of the process: the regular ones, 'peak' (if anything was ever live) and 'end'; the totals are
 * finished. The last two's ids go into *ret_peak_id (0: none) and *ret_end_id. */
int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err);

/* Into the bytes or from them, into new ones (checkpoint_io.h). The totals are those of then, with as many processes. */
void snapshots_visit(struct snapshots *snapshots, const struct totals *totals,
                     struct checkpoint_io *io);

#endif
