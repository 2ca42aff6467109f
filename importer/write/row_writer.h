/* SPDX-License-Identifier: MIT */
/*
 * row_writer: writes packed_allocation_rows, row_ranges, chain_rows, group_rows and realloc_chains.
 *
 * Rows come in batches, in order of id, and are written as pages of the file (table_pages.h).
 *
 * Invariants
 *   RW-1 Ids of allocations increase, and so do those of chains, which are the ids of their first
 *        members.
 *   RW-2 Thread and heap ids are below 2^24, the range of packed_allocation_rows.traits:
 *        row_writer_new fails if there are more.
 *
 * Threads: one. Do not use the connection between row_writer_new and row_writer_finish. Another
 * thread may fill a batch.
 * Errors: the database.
 */
#ifndef MTRACE_IMPORTER_ROW_WRITER_H
#define MTRACE_IMPORTER_ROW_WRITER_H

#include "importer/model/definitions.h"
#include "importer/pairing/lifetimes.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>

enum {
    ROW_BATCH_ROWS = 1024,
    ROW_RANGE_ROWS = 4096 /* rows of packed_allocation_rows per row of row_ranges */
};

struct row_batch {
    size_t n_rows;
    size_t n_links;
    size_t n_chains;
    size_t n_charged;
    struct allocation rows[ROW_BATCH_ROWS];
    uint32_t links[ROW_BATCH_ROWS]; /* indexes of rows that belong to a chain */
    struct pairing_chain chains[ROW_BATCH_ROWS];
    uint32_t charged[ROW_BATCH_ROWS]; /* indexes of rows whose group is not the root */
};

/* Appends to the batch, which must have room; chain may be NULL. */
void row_batch_add(struct row_batch *batch, const struct allocation *allocation,
                   const struct pairing_chain *chain);

struct row_writer;

/* Heap ids are at most n_heaps (RW-2). The definitions must live as long as the writer. */
int row_writer_new(sqlite3 *db, const struct definitions *definitions, uint64_t n_heaps,
                   struct row_writer **ret, struct error *err);

/* NULL is fine. */
void row_writer_free(struct row_writer *writer);

int row_writer_write(struct row_writer *writer, const struct row_batch *batch, struct error *err);

/* Completes the rows and the last range; the connection has an open transaction again. */
int row_writer_finish(struct row_writer *writer, struct error *err);

#endif
