/* SPDX-License-Identifier: MIT */
/*
 * import: makes a database from logs.
 *
 * One call reads the logs, writes rows and totals (statistics.h), symbols (symbols.h), totals of
 * functions and the views, and renames the database to the target.
 *
 * Invariants
 *   IM-1 The target appears complete or not at all (DB-1, DB-2).
 *   IM-2 From a damaged log everything readable is imported; the result says what is missing.
 *
 * Threads: one caller. Reading ahead, making rows and symbolizing use threads of their own.
 * Errors: one line. Nothing is printed except progress.
 */
#ifndef MTRACE_IMPORTER_IMPORT_H
#define MTRACE_IMPORTER_IMPORT_H

#include "importer/cli/import_options.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* ret_result is valid on success only. */
int import_run(const struct import_options *options, struct progress *progress,
               struct import_result *ret_result, struct error *err);

/* Makes functions, lines, call sites and their totals of an existing database again. */
int import_resymbolize(const char *target, const struct symbols_options *symbols,
                       struct progress *progress, struct error *err);

#endif
