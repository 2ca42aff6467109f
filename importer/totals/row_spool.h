/* SPDX-License-Identifier: MIT */
/*
 * kept_facts: what is a row of its own, kept to be told to a sink later, and with other ids.
 *
 * Model:   its sink appends what it is told to a temporary file. When it is given another sink it tells that
 *          all of it, and hands on at once whatever comes then: with the ids that stand for the numbers in it.
 * Invariants
 *   KF-1 Snapshots, which are told at the end, come only after row_spool_emit.
 *   KF-2 Where it is bounded: of samples of memory each process has the highest of each slot of time (the last of equally high ones), and slots get twice as long whenever there are too
 *        many, so that all of its life has as many, whenever it was, and the highest of all stays; of mappings, moves and other events those that come
 *        first stay. What is left out is counted.
 * Threads: none.
 * Failure: memory, the temporary file, or what the other sink returned.
 */
#ifndef MTRACE_IMPORTER_ROW_SPOOL_H
#define MTRACE_IMPORTER_ROW_SPOOL_H

#include "importer/log/checkpoint_io.h"
#include "importer/totals/row_sink.h"
#include "importer/totals/stable_numbers.h"

struct row_spool;

/* The temporary file lies beside `target`. */
int row_spool_new(const char *target, struct row_spool **ret, struct error *err);

/* NULL is fine. */
void row_spool_free(struct row_spool *kept);

/* Before the first: of each kind no more than `most` are kept (KF-2). */
void row_spool_bound(struct row_spool *kept, uint64_t most);

/* Of each kind that there is, with its name: "events", "mappings", … */
enum {
    ROW_SPOOL_KINDS = 4
};

uint64_t row_spool_n_left_out(const struct row_spool *kept, unsigned kind, const char **ret_name);

struct row_sink row_spool_sink(struct row_spool *kept);

/* ids and what the sink needs must live until the last is told. */
int row_spool_emit(struct row_spool *kept, const struct row_sink *sink,
                   const struct statistics_ids *ids, struct error *err);

/* Into the bytes or from them, into one that is empty (checkpoint_io.h). */
void row_spool_visit(struct row_spool *kept, const struct statistics_room *room,
                     struct checkpoint_io *io);

#endif
