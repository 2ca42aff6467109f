/* SPDX-License-Identifier: MIT */
/*
 * stack_index: which allocations each stack made, sorted by stack; on demand only, because it costs
 * as much as a third of the rows.
 *
 * Model:   a counting sort: one scan counts, then as many scans as it takes place the ids, a range
 * of stacks that fits into memory at a time. The table is written in order of its key. Invariants:
 * SI-1 memory is 8 bytes per stack and at most 128 MiB. Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_STACK_INDEX_H
#define MTRACE_IMPORTER_STACK_INDEX_H

#include "support/error.h"

#include <sqlite3.h>

/* Fills backtrace_allocations from allocation_rows; it is empty before. */
int stack_index_write(sqlite3 *db, struct error *err);

#endif
