/* SPDX-License-Identifier: MIT */
/*
 * stack_index: which allocations each stack made, sorted by stack; on demand only, because it costs
 * as much as a third of the rows.
 *
 * Model:   a counting sort. The totals say how many rows each stack has, so that stacks fall into
 *          ranges that fit into memory; one scan puts the ids aside by range (spill_file.h), then
 *          each range is placed and written, in order of the key.
 * Invariants
 *   SI-1 Rows are read once, whatever their number.
 *   SI-2 Memory: 8 bytes per stack, 8 per entry of a range, 64 KiB per range; on disk 8 bytes per
 *        row, when there is more than one range.
 * Threads: none.
 * Failure: memory, I/O and the database.
 */
#ifndef MTRACE_IMPORTER_STACK_INDEX_H
#define MTRACE_IMPORTER_STACK_INDEX_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stdint.h>

enum {
    STACK_INDEX_RANGE = 16 << 20 /* entries in memory: 128 MiB */
};

/* Fills backtrace_allocations, which is empty, from the rows; a range has range_entries, or is of
 * one stack. */
int stack_index_write(sqlite3 *db, uint64_t range_entries, struct error *err);

#endif
