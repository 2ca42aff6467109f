/* SPDX-License-Identifier: MIT */
/*
 * follow: a database that keeps up with a log that is still being written.
 *
 * Model:   rounds of a standing import. Each makes a database of everything that the log holds so far, without rows of
 *          allocations, beside the target and puts it in the target's place. Between rounds lies a pause of at
 *          least FOLLOW_PAUSE_NS and FOLLOW_MIN_REST times the processor time of the round, so that a long log
 *          costs no more than a fixed share of one processor. When the recording has ended, which ends a pause, too, or the
 *          user asks, the last round is a whole import.
 * Invariants
 *   FO-1 The target is a whole database at any time after the first round; who has it open keeps
 *        the one of that time.
 *   FO-2 A log that no longer grows is imported whole, once, before follow_run returns 0.
 *   FO-3 How long a round was held up says nothing of how long the next one is waited for.
 * Threads: one caller.
 * Failure: what incremental_import.h says; the target of the round before stays.
 */
#ifndef MTRACE_IMPORTER_FOLLOW_H
#define MTRACE_IMPORTER_FOLLOW_H

#include "importer/cli/import_options.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

#include <signal.h>

#define FOLLOW_START_NS UINT64_C(10000000000) /* a log that is not there yet is waited for */
#define FOLLOW_PAUSE_NS UINT64_C(2000000000)

enum {
    FOLLOW_MIN_REST = 3
};

/*
 * *interrupted is the number of the last signal, 0 before any: the one that progress looks at.
 * SIGINT ends following with the last round, and is taken back for that. Another signal ends it with
 * one round more like those before, and ERROR_INTERRUPTED; a second signal with that at once.
 * ret_result is that of the last round.
 */
int follow_run(const struct import_options *options, struct progress *progress,
               volatile sig_atomic_t *interrupted, struct import_result *ret_result,
               struct error *err);

#endif
