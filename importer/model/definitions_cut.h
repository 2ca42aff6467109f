/* SPDX-License-Identifier: MIT */
/*
 * definitions_cut: the definitions of a recording as they were at an instant of it.
 *
 * Model:   an import up to an instant is that of a recording whose programs and recorder were killed by
 *          SIGKILL then, except that a process still running is called 'running'. What has a time behind the
 *          cut is taken away, or taken back. A process has ended if its end is known to lie before the cut; where an
 *          event tells of it, whoever reads the events finds out (is_cut).
 * Invariants
 *   DC-1 No time in the definitions is behind the cut, but those of threads with is_later, and of processes with is_left_out.
 *   DC-2 Ids stay as they are: events name the same threads and stacks.
 *   DC-3 Not known, and so left as they were at the recording's end: counters of the log's header (dropped events, sizes,
 *        checks of the unwinder), messages of the collector, the last name of a thread, and stacks, frames and
 *        files, of which some may have been met later: no event refers to those.
 * Threads: one.
 * Failure: none.
 */
#ifndef MTRACE_IMPORTER_DEFINITIONS_CUT_H
#define MTRACE_IMPORTER_DEFINITIONS_CUT_H

#include "importer/model/definitions.h"

/* until_ns: since the start of the first process. Processes that began later are not counted by n_processes any more. */
void definitions_cut(struct definitions *definitions, uint64_t until_ns);

#endif
