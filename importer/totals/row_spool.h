/* SPDX-License-Identifier: MIT */
/*
 * row_spool: keeps rows in a temporary file until ids are known, then emits them to a sink.
 *
 * row_spool_sink appends rows to the file. row_spool_emit sets the final sink and the ids, emits
 * the rows of the file to it, and passes on later rows immediately.
 *
 * Invariants
 *   KF-1 Snapshots, which are emitted at the end, come only after row_spool_emit.
 *   KF-2 If bounded, each process keeps its highest memory sample per time slot (of equal ones the
 *        last). Slots become longer when there are too many, so samples cover its whole life. Of
 *        mappings and other events the first are kept. Dropped rows are counted.
 *   KF-3 Moves of blocks to other groups, which only full databases have, are not kept.
 *
 * Threads: one at a time.
 * Errors: memory, the temporary file, or those of the other sink.
 */
#ifndef MTRACE_IMPORTER_ROW_SPOOL_H
#define MTRACE_IMPORTER_ROW_SPOOL_H

#include "importer/log/checkpoint_io.h"
#include "importer/totals/row_sink.h"
#include "importer/totals/stable_numbers.h"

struct row_spool;

/* The temporary file is created next to `target`. */
int row_spool_new(const char *target, struct row_spool **ret, struct error *err);

/* NULL is fine. */
void row_spool_free(struct row_spool *kept);

/* Keeps at most `most` rows of each kind (KF-2). Before the first row. */
void row_spool_bound(struct row_spool *kept, uint64_t most);

/* The number of dropped rows of a kind and its name: "events", "mappings", … */
enum {
    ROW_SPOOL_KINDS = 3
};

uint64_t row_spool_n_left_out(const struct row_spool *kept, unsigned kind, const char **ret_name);

struct row_sink row_spool_sink(struct row_spool *kept);

/* ids and the sink's context must live until the last row. */
int row_spool_emit(struct row_spool *kept, const struct row_sink *sink,
                   const struct statistics_ids *ids, struct error *err);

/* Saves the rows, or loads them into an empty spool (checkpoint_io.h). */
void row_spool_visit(struct row_spool *kept, struct checkpoint_io *io);

#endif
