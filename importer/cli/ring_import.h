/* SPDX-License-Identifier: MIT */
/*
 * ring_import: the database of a log, be it a bounded one: of its state, and of the events that came after it (lib/logfile/log_rotation.h).
 *
 * Model:   what the state has is taken as what was read before (incremental_import.h), the rest is read. Somebody may keep up with the log
 *          meanwhile: who finds another state when he has opened the rest begins again with that one. What is open is read, though its name goes;
 *          of a log with more parts than are held open, whether it is still that state is looked at behind all of it, too.
 * Invariants
 *   RX-1 Totals are those of all events of the recording, as if none had been removed; rows are those of no block.
 * Threads: one. Failure: as import.h.
 */
#ifndef MTRACE_IMPORTER_RING_IMPORT_H
#define MTRACE_IMPORTER_RING_IMPORT_H

#include "importer/cli/import_options.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* Of logs without a state: import_run. */
int ring_import_run(const struct import_options *options, struct progress *progress,
                    struct import_result *ret_result, struct error *err);

/* ERROR_USAGE of a bounded log: who follows one reads events that are removed meanwhile. */
int ring_import_check_follow(const struct import_options *options, struct error *err);

#endif
