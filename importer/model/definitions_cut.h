/* SPDX-License-Identifier: MIT */
/*
 * definitions_cut: limits the definitions of a recording to those that existed at a given time.
 *
 * The result equals a recording whose programs and recorder were killed by SIGKILL at that time,
 * except that processes that still ran have the end 'running'. Items with a later time are removed
 * or undone. A process has ended if its end is known to be earlier. If an event tells this, the
 * reader of the events must decide (is_cut).
 *
 * Invariants
 *   DC-1 No time in the definitions is after the cut, except of threads with is_later and processes
 *        with is_left_out.
 *   DC-2 Ids do not change: events refer to the same threads and stacks.
 *   DC-3 Items without a time keep the state of the recording's end: header counters, messages,
 *        thread names, stacks, frames and files. Some may be later than the cut; no event refers to
 *        those.
 *
 * Threads: one. Cannot fail.
 */
#ifndef MTRACE_IMPORTER_DEFINITIONS_CUT_H
#define MTRACE_IMPORTER_DEFINITIONS_CUT_H

#include "importer/model/definitions.h"

/* until_ns: since the start of the first process. Reduces n_processes by those that began later. */
void definitions_cut(struct definitions *definitions, uint64_t until_ns);

#endif
