/* SPDX-License-Identifier: MIT */
/*
 * snapshots: what each stack had live at up to 63 regular instants of a process, at its peak and at
 * its end.
 *
 * Model:   regular snapshots divide the time that the log announces for the process into 64 parts;
 *          each is written when time passes it, and holds the stacks that changed since the one
 *          before. The peak and the end are written whole, from the totals, when they are final.
 * Invariants: SN-1 a regular snapshot says what is live at its instant, all events of it included;
 *             SN-2 at most SNAPSHOTS_REGULAR - 1 regular ones per process.
 * Threads: those of the connection.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SNAPSHOTS_H
#define MTRACE_IMPORTER_SNAPSHOTS_H

#include "importer/facts/totals.h"
#include "support/error.h"

#include <sqlite3.h>
#include <stdint.h>

enum {
    SNAPSHOTS_REGULAR = 64
};

struct snapshots;

int snapshots_new(sqlite3 *db, uint32_t n_processes, struct snapshots **ret, struct error *err);

/* NULL is fine. */
void snapshots_free(struct snapshots *snapshots);

/* The process is expected to live from start_ns to end_ns. */
void snapshots_plan(struct snapshots *snapshots, uint32_t process, uint64_t start_ns,
                    uint64_t end_ns);

/* Time of the process goes on to now_ns: writes the snapshots that lie before it. To be called
 * after totals_advance and before anything of now_ns is counted. */
int snapshots_advance(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                      uint64_t now_ns, struct error *err);

/* Writes 'peak' (if anything was ever live) and 'end'; the totals are finished. Their ids go into
 * *ret_peak_id (0: none) and *ret_end_id. */
int snapshots_finish(struct snapshots *snapshots, const struct totals *totals, uint32_t process,
                     uint64_t end_ns, uint64_t *ret_peak_id, uint64_t *ret_end_id,
                     struct error *err);

#endif
