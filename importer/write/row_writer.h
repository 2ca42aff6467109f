/* SPDX-License-Identifier: MIT */
/*
 * row_writer: allocations into packed_allocation_rows, row_ranges, chain_rows, group_rows and realloc_chains.
 *
 * Model:   rows come in batches, in order of id, and go into the file as pages (table_pages.h).
 * Invariants: RW-1 ids of allocations increase, those of chains, which are of their first members, too.
 *             RW-2 thread and heap ids are below 2^24, for which packed_allocation_rows.traits
 *             has room: row_writer_new fails with more.
 * Threads: one; the connection is not used between row_writer_new and row_writer_finish. A batch may be filled by another thread.
 * Failure: the database.
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
    ROW_RANGE_ROWS = 4096 /* of packed_allocation_rows for one of row_ranges */
};

struct row_batch {
    size_t n_rows;
    size_t n_links;
    size_t n_chains;
    size_t n_charged;
    struct allocation rows[ROW_BATCH_ROWS];
    uint32_t links[ROW_BATCH_ROWS]; /* indexes of rows that belong to a chain */
    struct pairing_chain chains[ROW_BATCH_ROWS];
    uint32_t charged[ROW_BATCH_ROWS]; /* indexes of rows with another group than the root */
};

/* Appends to the batch, which has room; chain may be NULL. */
void row_batch_add(struct row_batch *batch, const struct allocation *allocation,
                   const struct pairing_chain *chain);

struct row_writer;

/* Ids of heaps go up to n_heaps (RW-2). The definitions live as long as the writer. */
int row_writer_new(sqlite3 *db, const struct definitions *definitions, uint64_t n_heaps,
                   struct row_writer **ret, struct error *err);

/* NULL is fine. */
void row_writer_free(struct row_writer *writer);

int row_writer_write(struct row_writer *writer, const struct row_batch *batch, struct error *err);

/* All rows are in the database, the last range is closed, which has a transaction again. */
int row_writer_finish(struct row_writer *writer, struct error *err);

#endif
