/* SPDX-License-Identifier: MIT */
/*
 * follower: a process beside the recorder that imports a log while it grows (mtrace-import --keep).
 *
 * It writes databases of the log as of given times, for requests on standard input (cut_request.h).
 * It imports new events in advance (incremental_import.h), so that a database costs time for what
 * is new and live only. It exits when no requester is left.
 *
 * Unrequested work is limited by its cost. After each import the follower rests FOLLOWER_REST times
 * the processor time of the import, and until the program has used as much. While the log does not
 * grow, the pauses get longer. Of a bounded log it imports and removes everything
 * (checkpoint_writer.h), as soon as there is enough.
 *
 * Invariants
 *   KP-1 A reply equals an import of the log as of the requested time (KI-3), whatever was imported
 *        before.
 *   KP-2 Without requests, and unless the log is bounded, imports and rests have limits. Imports
 *        take at most 1/(1 + FOLLOWER_REST) of a processor. They also take at most 1/FOLLOWER_REST
 *        of what the program uses during the rest, unless the rest reaches 30 s. An import takes
 *        all events there are. Its work before the first event, which grows with the log, is at
 *        most a fortieth.
 *   KP-3 Nothing is imported that a later request may need to exclude. If requests name times,
 *        imports end FOLLOWER_MARGIN_NS before now; an older time costs an import from the start. A
 *        program that requests a report names the current time and its log shows the request: until
 *        it is answered nothing is imported, otherwise everything that is certain. A bounded log
 *        must not grow, so there the wait is at most 5 s. For a program's request the import may
 *        stop at the last clock knot before its time; only events after it are read twice.
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

#define FOLLOWER_MARGIN_NS UINT64_C(500000000)

enum {
    FOLLOWER_REST = 8
};

/* Runs until there can be no more requests. The options apply to all databases unless a request
 * differs. has_state: the log is bounded, and this process writes its checkpoint. */
int follower_run(const struct import_options *options, bool has_state, struct progress *progress,
                 struct error *err);

#endif
