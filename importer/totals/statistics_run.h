/* SPDX-License-Identifier: MIT */
/*
 * statistics_run: counts a run of allocations and frees of one thread with shared lookups.
 *
 * Nearly all events are allocations and frees of the same thread as the event before, with nothing
 * else due. For such a run, sums of process, thread and open timeline bucket are kept apart and
 * added at its end. Any other event ends the run and is left to statistics_event.
 *
 * Invariants
 *   FN-1 The statistics are the same as if statistics_event took each event.
 *
 * Threads: one at a time.
 * Errors: as statistics_event.
 */
#ifndef MTRACE_IMPORTER_STATISTICS_RUN_H
#define MTRACE_IMPORTER_STATISTICS_RUN_H

#include "importer/totals/statistics.h"

/* Takes the first *ret_n events, maybe none, all before until_ns; the next one is for
 * statistics_event. Prefetches for the events after them (statistics_prefetch). */
int statistics_run_take(struct statistics *statistics, const struct event *events, size_t n_events,
                        uint64_t until_ns, size_t *ret_n, struct error *err);

#endif
