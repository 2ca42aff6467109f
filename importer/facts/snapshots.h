/* SPDX-License-Identifier: MIT */
/*
 * snapshots: what each stack had live at up to 63 regular instants of a process, at its peak and at
 * its end.
 *
 * Model:   regular snapshots divide the time that the log announces for the process into 64 parts;
 *          each is taken when time passes it, and holds the stacks that changed since the one
 *          before. The peak and the end are taken whole, from the totals, when they are final.
 * Invariants: SN-1 a regular snapshot says what is live at its instant, all events of it included;
 *             SN-2 at most SNAPSHOTS_REGULAR - 1 regular ones per process.
 * Threads: none.
 * Failure: memory, or what the sink returned.
 */
#ifndef MTRACE_IMPORTER_SNAPSHOTS_H
#define MTRACE_IMPORTER_SNAPSHOTS_H

#include "importer/facts/totals.h"
#include "support/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SNAPSHOTS_REGULAR = 64
};

/* A row of snapshot_backtraces. */
struct snapshot_stack {
    uint64_t snapshot_id;
    uint64_t live_bytes, live_blocks;
    uint32_t node;
};

struct snapshot {
    uint64_t id; /* from 1, in the order in which they are taken */
    uint64_t at_ns;
    const char *reason; /* 'regular', 'peak' or 'end' */
    uint32_t process;
    size_t n_stacks;
    const struct snapshot_stack *stacks; /* by node */
};

typedef int snapshots_fn(void *context, const struct snapshot *snapshot, struct error *err);

struct snapshots;

int snapshots_new(uint32_t n_processes, snapshots_fn *taken, void *context, struct snapshots **ret,
                  struct error *err);

/* NULL is fine. */
void snapshots_free(struct snapshots *snapshots);

/* The process is expected to live from start_ns to end_ns. */
void snapshots_plan(struct snapshots *snapshots, uint32_t process, uint64_t start_ns,
                    uint64_t end_ns);

/* Time of the process goes on to now_ns: takes the snapshots that lie before it. To be called
 * after totals_advance and before anything of now_ns is counted. */
int snapshots_advance(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                      uint64_t now_ns, struct error *err);

/* Takes 'peak' (if anything was ever live) and 'end'; the totals are finished. Their ids go into
 * *ret_peak_id (0: none) and *ret_end_id. */
int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err);

#endif
