/* SPDX-License-Identifier: MIT */
/*
 * follow: keeps a database up to date with a log that is still being written (mtrace-import
 * --follow).
 *
 * It makes rounds of an incremental import. Each writes a database of the log so far, without rows
 * of allocations, beside the target and renames it to the target. Between rounds it pauses for at
 * least FOLLOW_PAUSE_NS and FOLLOW_MIN_REST times the processor time of the round, so that a long
 * log takes a fixed share of one processor at most. The end of the recording also ends a pause.
 * After it, or when the user asks, the log is imported once more, as without --follow.
 *
 * Invariants
 *   FO-1 After the first round the target is always a complete database. A process that has it open
 *        keeps the version that it opened.
 *   FO-2 A log that no longer grows is imported completely, once, before follow_run returns 0.
 *   FO-3 The pause does not depend on the elapsed time of a round, which other processes may delay.
 *
 * Threads: one caller. Errors: as in incremental_import.h; the target of the previous round stays.
 */
#ifndef MTRACE_IMPORTER_FOLLOW_H
#define MTRACE_IMPORTER_FOLLOW_H

#include "importer/cli/import.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

#include <signal.h>

#define FOLLOW_START_NS UINT64_C(10000000000) /* wait for a log that does not exist yet */
#define FOLLOW_PAUSE_NS UINT64_C(2000000000)

enum {
    FOLLOW_MIN_REST = 3
};

/*
 * *interrupted is the number of the last signal, 0 before any; progress looks at the same variable.
 * SIGINT ends following with the last round; the variable is reset for it. Another signal ends it
 * with one more normal round and ERROR_INTERRUPTED; a second one ends it immediately with the same
 * error. ret_result is that of the last round.
 */
int follow_run(const struct import_options *options, struct progress *progress,
               volatile sig_atomic_t *interrupted, struct import_result *ret_result,
               struct error *err);

#endif
