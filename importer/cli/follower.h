/* SPDX-License-Identifier: MIT */
/*
 * follower: a process beside the recorder that imports a log while it grows (mtrace-import --keep).
 *
 * It writes databases of the log as of given times, for requests on standard input (cut_request.h).
 * It imports new events in advance (incremental_import.h), so that a database costs time for what
 * is new and live only. It exits when no requester is left.
 *
 * Requests come first. Between them it makes rounds: an import of what is older than the margin,
 * then a rest of FOLLOWER_REST times the processor time of the round. Of a bounded log it imports
 * and removes everything (checkpoint_writer.h), as soon as there is enough.
 *
 * Invariants
 *   KP-1 A reply equals an import of the log as of the requested time (KI-1).
 *   KP-2 Without requests, and unless the log is bounded, rounds take at most
 *        1/(1 + FOLLOWER_REST) of a processor.
 *   KP-3 No event younger than the margin is kept, so a request can be served that arrives within
 *        it. A later one is imported from the start; in a bounded log it is refused.
 *
 * Threads: one, and those of the importer while it reads.
 * Errors: each requester gets the reason. Only the end of requests ends the follower, and in a
 * bounded log events that cannot be imported.
 */
#ifndef MTRACE_IMPORTER_FOLLOWER_H
#define MTRACE_IMPORTER_FOLLOWER_H

#include "importer/cli/import.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

#define FOLLOWER_MARGIN_NS UINT64_C(1000000000)

enum {
    FOLLOWER_REST = 8
};

/* Runs until there can be no more requests. The options apply to all databases unless a request
 * differs. has_state: the log is bounded, and this process writes its checkpoint. */
int follower_run(const struct import_options *options, bool has_state, struct progress *progress,
                 struct error *err);

#endif
