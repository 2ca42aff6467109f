/* SPDX-License-Identifier: MIT */
/*
 * site_tables: totals and snapshots by call site, which reports read: site_totals, site_leaks,
 * site_frees, suppressed_stacks, snapshot_sites, site_leak_times, site_shapes and
 * site_growth.
 *
 * Each table has the result of the view of its name with a leading underscore. snapshot_sites is
 * counted in memory, because SQLite would sort all snapshots.
 *
 * Invariants
 *   ST-1 Existing rows are replaced.
 *
 * Memory: 12 bytes per stack, 24 per call site.
 * Errors: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_TABLES_H
#define MTRACE_IMPORTER_SITE_TABLES_H

#include "importer/symbols/call_sites.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* Needs all other totals, and names and call sites of the code. */
int site_tables_write(sqlite3 *db, const struct site_of_stack *of_stack, struct error *err);

#endif
