/* SPDX-License-Identifier: MIT */
/*
 * site_totals: totals and snapshots by call site, which reports read: site_totals, site_leaks,
 * site_frees, suppressed_stacks, snapshot_sites, site_births, site_shapes and site_growth.
 *
 * Model:   each table is what the view of its name with an underscore in front answers; those
 *          over all snapshots, births and stacks are counted in memory, because SQLite would sort them.
 * Invariants: ST-1 rows that were there before are replaced.
 * Memory:  12 bytes per stack, 24 per call site.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_SITE_TOTALS_H
#define MTRACE_IMPORTER_SITE_TOTALS_H

#include "support/error.h"

#include <sqlite3.h>

struct event_rows;
struct facts;

/* The views that it needs, in a database that was begun without any (database_blank). */
int site_totals_load_views(sqlite3 *db, struct error *err);

/* Needs all other totals, code with names and call sites, and the views. facts: after facts_finish, with the ids of the
 * database; snapshots: that kept what snapshot_backtraces says. Each NULL: the tables have what it says. */
int site_totals_write(sqlite3 *db, const struct facts *facts, const struct event_rows *snapshots,
                      struct error *err);

#endif
