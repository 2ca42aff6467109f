/* SPDX-License-Identifier: MIT */
/*
 * row_writer: writes packed_allocation_rows, row_ranges, chain_rows, group_rows and realloc_chains.
 *
 * Rows come in batches, in order of id, and are written as pages of the file (table_pages.h). One
 * thread joins them (pass 2 of statistics.h), the caller's thread inserts.
 *
 * Invariants
 *   RW-1 Ids of allocations increase, and so do those of chains, which are the ids of their first
 *        members.
 *   RW-2 Thread and heap ids are below 2^24, the range of packed_allocation_rows.traits:
 *        row_writer_write_all fails if there are more.
 *
 * Threads: one caller; nothing else uses the connection during the call.
 * Errors: memory, I/O, the database, ERROR_INTERRUPTED.
 */
#ifndef MTRACE_IMPORTER_ROW_WRITER_H
#define MTRACE_IMPORTER_ROW_WRITER_H

#include "importer/totals/statistics.h"
#include "lib/base/progress.h"

#include <sqlite3.h>
#include <stdbool.h>

/* slim: writes no rows, but reads all of them to count pages, unless the statistics kept the blocks
 * for that (statistics_keep_moments). */
int row_writer_write_all(sqlite3 *db, struct statistics *statistics, bool slim,
                         struct progress *progress, struct error *err);

#endif
