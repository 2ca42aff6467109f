/* SPDX-License-Identifier: MIT */
/*
 * total_tables: writes completed statistics to the tables of the database.
 *
 * Rows of allocations come first: one thread joins them (pass 2 of statistics.h), the caller's
 * thread inserts. Totals and definitions follow.
 *
 * Invariants
 *   FW-1 With `slim`, only the rows of allocations, chain links and chains are missing.
 *
 * Threads: one caller.
 * Errors: memory, I/O, the database; fact_rows_write also ERROR_INTERRUPTED.
 */
#ifndef MTRACE_IMPORTER_TOTAL_TABLES_H
#define MTRACE_IMPORTER_TOTAL_TABLES_H

#include "importer/totals/statistics.h"
#include "lib/base/progress.h"

#include <sqlite3.h>
#include <stdbool.h>

/* slim: writes no rows, but reads all of them to count pages, unless the statistics kept the blocks
 * for that (statistics_keep_moments). */
int fact_rows_write(sqlite3 *db, struct statistics *facts, bool slim, struct progress *progress,
                    struct error *err);

/* Writes totals, timeline and heaps by detail level, and calls stack_tables_write and
 * code_tables_write. */
int total_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                       struct error *err);

/* Totals of stacks; called by total_tables_write. */
int stack_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                       struct error *err);

/* Groups, tags and phases, and their totals. */
int group_tables_write(sqlite3 *db, const struct statistics *facts, struct error *err);

/* Windows of recording. */
int window_rows_write(sqlite3 *db, const struct statistics *facts, struct error *err);

/* Pools, and unless `slim` their blocks. Once, after statistics_finish. */
int pool_tables_write(sqlite3 *db, const struct statistics *facts, bool slim, struct error *err);

/* Object walks. Once. */
int object_tables_write(sqlite3 *db, struct statistics *facts, struct error *err);

/* Backtraces with their call sites: call_site_ids is indexed by backtrace_id; 0: none. */
int backtrace_rows_write(sqlite3 *db, const struct definitions *definitions,
                         const uint32_t *call_site_ids, struct error *err);

/* Processes, threads, objects, modules, frames, meta. */
int code_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                      struct error *err);

#endif
