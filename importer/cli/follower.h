/* SPDX-License-Identifier: MIT */
/*
 * keeper: answers a recorder that wants databases of its log, as of instants, while the program runs (mtrace-import --keep).
 *
 * Model:   one process beside the recorder, for one log. It takes in what the log gained meanwhile (incremental_import.h), so that a
 *          database costs what is new and what is live, and not what once was. Requests are those of cut_request.h, on
 *          standard input; the process ends when nobody can ask any more.
 *          What it does unasked is bounded by what it costs: after each look at the log it rests FOLLOWER_REST times as long as
 *          the look took of the processors, and until the recorded processes took as much of them, as on a busy machine time goes on without
 *          the program; and ever longer while the log stands still. Of a bounded log it takes in all, and
 *          removes it (checkpoint_writer.h): there it looks as soon as there is enough.
 * Invariants
 *   KP-1 A reply is that of an import of the log as of the instant (KI-3), whatever was kept.
 *   KP-2 Unasked, and of a log that is not bounded, a look with the rest behind it takes 1 / (1 + FOLLOWER_REST) of a processor at most, and
 *        1 / FOLLOWER_REST of what the program takes in that rest, unless that lasts more than 30 s. A look takes in all there is, however much.
 *        What it takes before it reads an event, which grows with the log, is a fortieth at most.
 *   KP-3 Where instants are named by their time what it keeps ends FOLLOWER_MARGIN_NS before now: nobody asks about one that long ago but by mistake,
 *        which costs an import from the start. A program asks about the instant at which it asks, and the log shows that it does: meanwhile nothing is
 *        taken in unasked, and else all that is certain; of a bounded log for 5 s at most, since it would grow, and for one more behind each who
 *        begins to ask and does not say how much (CR-1). Or it ends with the instant of a program's question, which comes when the log has all that was before: a
 *        knot of the clock before it, so that no event is read for two answers but those behind that knot.
 * Threads: one; the importer's own while it reads.
 * Failure: each request is told what failed; nothing but the end of the requests ends it, and of a bounded log what it cannot take in.
 */
#ifndef MTRACE_IMPORTER_FOLLOWER_H
#define MTRACE_IMPORTER_FOLLOWER_H

#include "importer/cli/import_options.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

#define FOLLOWER_MARGIN_NS UINT64_C(500000000)

enum {
    FOLLOWER_REST = 8
};

/* The options are those of all databases, but for what a request says. has_state: the log is bounded, and its state is ours to write. */
int follower_run(const struct import_options *options, bool has_state, struct progress *progress,
                 struct error *err);

#endif
