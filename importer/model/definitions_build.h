/* SPDX-License-Identifier: MIT */
/*
 * definitions_build: merges the definitions of all logs of a set under the ids of the database, and
 * limits them to those that existed at a given time.
 *
 * The logs are sorted by the start of their processes; log i is process i + 1. Their clocks are
 * finished. The ids are also stored in the names of each log.
 *
 * definitions_cut makes the definitions equal to those of a recording whose programs and recorder
 * were killed by SIGKILL at that time, except that processes that still ran have the end 'running'.
 * Items with a later time are removed or undone. A process has ended if its end is known to be
 * earlier. If an event tells this, the reader of the events must decide (is_cut).
 *
 * Invariants
 *   DC-1 No time in the definitions is after the cut, except of threads with is_later and processes
 *        with is_left_out.
 *   DC-2 Ids do not change: events refer to the same threads and stacks.
 *   DC-3 Items without a time keep the state of the recording's end: header counters, messages,
 *        thread names, stacks, frames and files. Some may be later than the cut; no event refers to
 *        those.
 *
 * Threads: one at a time.
 * Errors: ERROR_NOMEM; definitions_cut cannot fail. Call definitions_build_done also after a
 * failure.
 */
#ifndef MTRACE_IMPORTER_DEFINITIONS_BUILD_H
#define MTRACE_IMPORTER_DEFINITIONS_BUILD_H

#include "importer/log/log_input.h"
#include "importer/model/definitions.h"

/* origin_ns: CLOCK_MONOTONIC at time 0. Strings stay in the arena of the set. */
int definitions_build(struct log_input *const *inputs, size_t n_inputs, uint64_t origin_ns,
                      struct log_damage_report *damage, struct definitions *ret);

void definitions_build_done(struct definitions *definitions);

/* Cuts the definitions. until_ns: since the start of the first process. Reduces n_processes by
 * those that began later. */
void definitions_cut(struct definitions *definitions, uint64_t until_ns);

#endif
