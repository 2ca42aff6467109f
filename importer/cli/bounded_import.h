/* SPDX-License-Identifier: MIT */
/*
 * bounded_import: makes the database of a log that may be bounded: from its checkpoint and the
 * events after it (lib/logfile/log_rotation.h).
 *
 * The checkpoint counts as read before (incremental_import.h), the rest is read. A follower may
 * work on the log at the same time. It removes no files while this process has the lock
 * (log_rotation_lock_for_reading), which is released when everything was read.
 *
 * Invariants
 *   RX-1 Totals are those of all events of the recording, as if none had been removed. Freed
 *        blocks have no rows.
 *
 * Threads: one. Errors: as in import.h.
 */
#ifndef MTRACE_IMPORTER_BOUNDED_IMPORT_H
#define MTRACE_IMPORTER_BOUNDED_IMPORT_H

#include "importer/cli/import.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* Calls import_run for logs without a checkpoint. */
int bounded_import_run(const struct import_options *options, struct progress *progress,
                       struct import_result *ret_result, struct error *err);

/* ERROR_USAGE for a bounded log: --follow would read events that are removed meanwhile. */
int bounded_import_check_follow(const struct import_options *options, struct error *err);

#endif
