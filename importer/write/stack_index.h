/* SPDX-License-Identifier: MIT */
/*
 * stack_index: which allocations each stack made, sorted by stack. Made on demand only, because it
 * costs up to a third of writing the rows.
 *
 * It is a counting sort. The totals have the number of rows of each stack, so stacks are divided
 * into ranges that fit into memory. One scan spools the ids by range (spill_file.h); then each
 * range is sorted and written, in order of the key.
 *
 * Invariants
 *   SI-1 Rows are read once, whatever their number.
 *   SI-2 Memory: 8 bytes per stack, 8 per entry of a range, 64 KiB per range. Disk: 8 bytes per row
 *        if there are several ranges.
 *
 * Threads: one at a time.
 * Errors: memory, I/O and the database.
 */
#ifndef MTRACE_IMPORTER_STACK_INDEX_H
#define MTRACE_IMPORTER_STACK_INDEX_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stdint.h>

enum {
    STACK_INDEX_RANGE = 16 << 20 /* entries in memory: 128 MiB */
};

/* Fills the empty table backtrace_allocations from the rows. A range has range_entries at most, or
 * is one stack. */
int stack_index_write(sqlite3 *db, uint64_t range_entries, struct error *err);

#endif
