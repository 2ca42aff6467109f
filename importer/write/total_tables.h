/* SPDX-License-Identifier: MIT */
/*
 * total_tables: writes completed statistics to the tables of the database.
 *
 * Rows of allocations come first (row_writer.h). Totals and definitions follow.
 *
 * Invariants
 *   FW-1 With `slim`, only the rows of allocations, chain links and chains are missing.
 *
 * Threads: one caller.
 * Errors: memory, I/O, the database.
 */
#ifndef MTRACE_IMPORTER_TOTAL_TABLES_H
#define MTRACE_IMPORTER_TOTAL_TABLES_H

#include "importer/totals/statistics.h"
#include "lib/base/progress.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Writes totals, timeline and heaps, and calls stack_tables_write and
 * code_tables_write. */
int total_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err);

/* Totals of stacks; called by total_tables_write. */
int stack_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err);

/* Pools, and unless `slim` their blocks. Once, after statistics_finish. */
int pool_tables_write(sqlite3 *db, const struct statistics *statistics, bool slim,
                      struct error *err);

/* Object walks. Once. */
int object_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err);

/* Backtraces with their call sites: call_site_ids is indexed by backtrace_id; 0: none. */
int backtrace_rows_write(sqlite3 *db, const struct definitions *definitions,
                         const uint32_t *call_site_ids, struct error *err);

/* Processes, threads, objects, modules, frames, meta. */
int code_tables_write(sqlite3 *db, struct statistics *statistics, struct error *err);

#endif
