/* SPDX-License-Identifier: MIT */
/*
 * fact_tables: facts into the tables of the database, once they are complete.
 *
 * Model:   rows of allocations first: one thread puts them together (pass 2 of statistics.h), the
 *          caller's feeds SQLite. Then all that was counted, and what the log defines.
 * Invariants: FW-1 with slim nothing but the rows of allocations, chain links and chains is
 *             missing.
 * Threads: one caller.
 * Failure: memory, I/O, the database; of fact_rows_write also ERROR_INTERRUPTED.
 */
#ifndef MTRACE_IMPORTER_TOTAL_TABLES_H
#define MTRACE_IMPORTER_TOTAL_TABLES_H

#include "importer/totals/statistics.h"
#include "lib/base/progress.h"

#include <sqlite3.h>
#include <stdbool.h>

/* slim: no row is written; all are read nevertheless, because pages are counted on the way, unless facts kept the blocks
 * that those need. */
int fact_rows_write(sqlite3 *db, struct statistics *facts, bool slim, struct progress *progress,
                    struct error *err);

/* Totals, timeline and heaps, but for what is left out; then code_tables_write. */
int total_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                       struct error *err);

/* Totals of stacks: a part of total_tables_write. */
int stack_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                       struct error *err);

/* Groups, tags, phases, and what was charged to them. */
int group_tables_write(sqlite3 *db, const struct statistics *facts, struct error *err);

/* Windows of recording. */
int window_rows_write(sqlite3 *db, const struct statistics *facts, struct error *err);

/* Pools, and unless slim their blocks. Once, after statistics_finish. */
int pool_tables_write(sqlite3 *db, const struct statistics *facts, bool slim, struct error *err);

/* Walks over objects of the program, once. */
int object_tables_write(sqlite3 *db, struct statistics *facts, struct error *err);

/* Backtraces, once their call sites are known: ids by backtrace_id, 0 where there is none. */
int backtrace_rows_write(sqlite3 *db, const struct definitions *definitions,
                         const uint32_t *call_site_ids, struct error *err);

/* Processes, threads, objects, modules, frames, meta. */
int code_tables_write(sqlite3 *db, struct statistics *facts, enum left_out left_out,
                      struct error *err);

#endif
