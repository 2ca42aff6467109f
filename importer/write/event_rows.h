/* SPDX-License-Identifier: MIT */
/*
 * event_rows: what is a row of its own while events are read: failures, mallopt calls, markers,
 * mappings, snapshots, samples of memory and blocks moved between groups.
 *
 * Model:   a facts_sink that inserts each as it comes. Ids of failures, mallopt calls and markers
 *          are those of SQLite, in order of time.
 * Invariants: EO-1 of samples of a process at one time the last one is a row, of all others each.
 * Threads: those of the connection.
 * Failure: the database.
 */
#ifndef MTRACE_IMPORTER_EVENT_ROWS_H
#define MTRACE_IMPORTER_EVENT_ROWS_H

#include "importer/totals/statistics.h"
#include "lib/base/error.h"

#include <sqlite3.h>

struct definitions;
struct event_rows;

int event_rows_new(sqlite3 *db, struct event_rows **ret, struct error *err);

/* Before the first event: what stacks have at moments is not written, but kept for event_rows_snapshots. */
void event_rows_keep_snapshots(struct event_rows *rows);

/* What was kept of a snapshot, in no order; NULL: nothing is kept. */
const struct snapshot_stack *event_rows_snapshot(const struct event_rows *rows, uint64_t id,
                                                 size_t *ret_n);

/* NULL is fine. */
void event_rows_free(struct event_rows *rows);

/* Valid as long as the rows and the definitions, which are those of the whole log, or NULL: without what says something of single
 * blocks. */
struct row_sink event_rows_sink(struct event_rows *rows, const struct definitions *definitions);

#endif
