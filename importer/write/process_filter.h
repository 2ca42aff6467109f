/* SPDX-License-Identifier: MIT */
/*
 * told_processes: a database of some of the processes of a recording.
 *
 * Model:   totals are kept by process, so those of one are rows of their tables. All tables are written, and then what is of
 *          others goes: whatever has a process_id, and what belongs to such rows.
 * Invariants
 *   TK-1 No row has or refers to a process with is_left_out, but for stacks, frames and files, which all processes share.
 *   TK-2 Numbers and times are those of the database of all.
 * Threads: one.
 * Failure: that of SQLite.
 */
#ifndef MTRACE_IMPORTER_PROCESS_FILTER_H
#define MTRACE_IMPORTER_PROCESS_FILTER_H

#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* After all tables were written; nothing happens where no process is left out. */
int process_filter_keep(sqlite3 *db, const struct definitions *definitions, struct error *err);

#endif
