/* SPDX-License-Identifier: MIT */
/*
 * event_rows: inserts rows while events are read: failures, unmatched frees, mallopt calls,
 * markers, mappings, snapshots, memory samples and blocks moved between groups.
 *
 * It is a row_sink. SQLite assigns ids of failures, mallopt calls and markers in order of time.
 *
 * Invariants
 *   EO-1 Of memory samples of a process at one time only the last one is a row.
 *
 * Threads: those of the connection.
 * Errors: the database.
 */
#ifndef MTRACE_IMPORTER_EVENT_ROWS_H
#define MTRACE_IMPORTER_EVENT_ROWS_H

#include "importer/totals/statistics.h"
#include "lib/base/error.h"

#include <sqlite3.h>

struct definitions;
struct event_rows;

int event_rows_new(sqlite3 *db, struct event_rows **ret, struct error *err);

/* NULL is fine. */
void event_rows_free(struct event_rows *rows);

/* Valid as long as the rows and the definitions, which are those of the whole log. NULL: rows about
 * single blocks are omitted. */
struct row_sink event_rows_sink(struct event_rows *rows, const struct definitions *definitions);

#endif
