/* SPDX-License-Identifier: MIT */
/*
 * process_filter: reduces a database to some processes of a recording.
 *
 * Totals are kept by process, so all tables are written first. Then rows of the other processes are
 * deleted: those with their process_id, and those that belong to such rows.
 *
 * Invariants
 *   TK-1 No row has or refers to a process with is_left_out, except stacks, frames and files, which
 *        all processes share.
 *   TK-2 Numbers and times are those of the database with all processes.
 *
 * Threads: one.
 * Errors: those of SQLite.
 */
#ifndef MTRACE_IMPORTER_PROCESS_FILTER_H
#define MTRACE_IMPORTER_PROCESS_FILTER_H

#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* After all tables were written. Does nothing if no process is left out. */
int process_filter_keep(sqlite3 *db, const struct definitions *definitions, struct error *err);

#endif
