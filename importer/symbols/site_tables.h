/* SPDX-License-Identifier: MIT */
/*
 * site_tables: totals and snapshots by call site, which reports read: site_totals, site_leaks,
 * site_frees, suppressed_stacks, snapshot_sites, site_leak_times, site_shapes and
 * site_growth.
 *
 * Each table has the result of the view of its name with a leading underscore. Those over all
 * snapshots, time buckets and stacks are counted in memory, because SQLite would sort them.
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

struct statistics;

/* Needs all other totals, and names and call sites of the code. statistics: after
 * statistics_finish, with the ids of the database; NULL: they are read from the tables. */
int site_tables_write(sqlite3 *db, const struct site_of_stack *sites,
                      const struct statistics *statistics, struct error *err);

#endif
