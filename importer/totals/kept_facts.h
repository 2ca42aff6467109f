/* SPDX-License-Identifier: MIT */
/*
 * kept_facts: what is a row of its own, kept to be told to a sink later, and with other ids.
 *
 * Model:   its sink appends what it is told to a temporary file. When it is given another sink it tells that
 *          all of it, and hands on at once whatever comes then: with the ids that stand for the numbers in it.
 * Invariants
 *   KF-1 Snapshots, which are told at the end, come only after kept_facts_tell.
 *   KF-2 Where it is bounded: of samples of memory each process has the highest of each slot of time (the last of equally high ones), and slots get twice as long whenever there are too
 *        many, so that all of its life has as many, whenever it was, and the highest of all stays; of mappings, moves and other events those that come
 *        first stay. What is left out is counted.
 * Threads: none.
 * Failure: memory, the temporary file, or what the other sink returned.
 */
#ifndef MTRACE_IMPORTER_KEPT_FACTS_H
#define MTRACE_IMPORTER_KEPT_FACTS_H

#include "importer/log/state_io.h"
#include "importer/totals/facts_numbers.h"
#include "importer/totals/facts_sink.h"

struct kept_facts;

/* The temporary file lies beside `target`. */
int kept_facts_new(const char *target, struct kept_facts **ret, struct error *err);

/* NULL is fine. */
void kept_facts_free(struct kept_facts *kept);

/* Before the first: of each kind no more than `most` are kept (KF-2). */
void kept_facts_bound(struct kept_facts *kept, uint64_t most);

/* Of each kind that there is, with its name: "events", "mappings", … */
enum {
    KEPT_FACTS_KINDS = 4
};

uint64_t kept_facts_n_left_out(const struct kept_facts *kept, unsigned kind, const char **ret_name);

struct facts_sink kept_facts_sink(struct kept_facts *kept);

/* ids and what the sink needs must live until the last is told. */
int kept_facts_tell(struct kept_facts *kept, const struct facts_sink *sink,
                    const struct facts_ids *ids, struct error *err);

/* Into the bytes or from them, into one that is empty (state_io.h). */
void kept_facts_visit(struct kept_facts *kept, const struct facts_room *room, struct state_io *io);

#endif
