/* SPDX-License-Identifier: MIT */
/*
 * site_totals: totals and snapshots by call site, which reports read: site_totals, site_leaks,
 * site_frees, suppressed_stacks, snapshot_sites, site_shapes and site_growth.
 *
 * Model:   each table is what the view of its name with an underscore in front answers; the one
 *          over all snapshots is counted here, because SQLite would sort them.
 * Invariants: ST-1 rows that were there before are replaced.
 * Memory:  12 bytes per stack, 24 per call site.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_TOTALS_H
#define MTRACE_IMPORTER_SITE_TOTALS_H

#include "support/error.h"

#include <sqlite3.h>

/* Needs all other totals, code with names and call sites, and the views. */
int site_totals_write(sqlite3 *db, struct error *err);

#endif
