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
#ifndef MTRACE_IMPORTER_SITE_TABLES_H
#define MTRACE_IMPORTER_SITE_TABLES_H

#include "importer/symbols/call_sites.h"
#include "lib/base/error.h"
#include "lib/logfile/left_out.h"

#include <sqlite3.h>

struct event_rows;
struct statistics;

/* What there is beside the tables. facts, snapshots: NULL: the tables have what it says. */
struct site_source {
    const struct statistics *facts;     /* after statistics_finish, with the ids of the database */
    const struct event_rows *snapshots; /* that kept what snapshot_backtraces says */
    enum left_out left_out;             /* of the database */
};

/* Needs all other totals, and code with names and call sites. */
int site_tables_write(sqlite3 *db, const struct site_of_stack *sites,
                      const struct site_source *source, struct error *err);

#endif
