/* SPDX-License-Identifier: MIT */
/*
 * event_rows: events that are rows of their own: failures, mallopt calls, markers, mappings.
 *
 * Model:   each is inserted as it comes; ids are those of SQLite, in order of time. Mappings come
 *          when their pieces end.
 * Threads: those of the connection.
 * Failure: the database.
 */
#ifndef MTRACE_IMPORTER_EVENT_ROWS_H
#define MTRACE_IMPORTER_EVENT_ROWS_H

#include "importer/events/event.h"
#include "importer/facts/mappings.h"
#include "support/error.h"

#include <sqlite3.h>

struct event_rows;

int event_rows_new(sqlite3 *db, struct event_rows **ret, struct error *err);

/* NULL is fine. */
void event_rows_free(struct event_rows *rows);

/* Takes FAILURE, MALLOPT and MARKER; other kinds mean nothing to it. */
int event_rows_event(struct event_rows *rows, const struct event *event, struct error *err);

/* context is the struct event_rows. */
int event_rows_mapping(void *context, const struct mapping *piece, struct error *err);

#endif
