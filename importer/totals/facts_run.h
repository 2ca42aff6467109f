/* SPDX-License-Identifier: MIT */
/*
 * facts_run: births and ends of one thread in a row, counted with one look at what they have in common.
 *
 * Model:   nearly all events are births and frees of the thread that the event before was of, before anything else is due. While that is so, sums of
 *          the process, the thread and the open bucket of the timeline are those of the run, added to them when it ends. Whatever else
 *          comes ends the run, and is left to statistics_event.
 * Invariants
 *   FN-1 The facts are what they are when each event is given to statistics_event.
 * Threads: none.
 * Failure: as statistics_event.
 */
#ifndef MTRACE_IMPORTER_FACTS_RUN_H
#define MTRACE_IMPORTER_FACTS_RUN_H

#include "importer/totals/statistics.h"

/* Takes the first *ret_n of them, all before until_ns, perhaps none: the next one is for statistics_event. It expects (statistics_expect) what comes behind
 * those. */
int facts_run_take(struct statistics *facts, const struct event *events, size_t n_events,
                   uint64_t until_ns, size_t *ret_n, struct error *err);

#endif
