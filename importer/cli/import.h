/* SPDX-License-Identifier: MIT */
/*
 * import: from logs to a finished database.
 *
 * Model:   one call reads the logs, writes facts (statistics.h), symbols (symbols.h), totals of
 * functions and the canned views, and puts the database in its place. Invariants: IM-1 the target
 * appears complete or not at all (DB-1, DB-2). IM-2 a damaged log gives everything that can be
 * read, and says in the result what could not. Threads: one caller; the log is read ahead, rows are
 * made and objects symbolized in threads of their own. Failure: one clear line; nothing is printed
 * but progress.
 */
#ifndef MTRACE_IMPORTER_IMPORT_H
#define MTRACE_IMPORTER_IMPORT_H

#include "importer/cli/import_options.h"
#include "lib/base/error.h"
#include "lib/base/progress.h"

/* ret_result is meaningful on success only. */
int import_run(const struct import_options *options, struct progress *progress,
               struct import_result *ret_result, struct error *err);

/* Functions, lines, call sites and their totals of an existing database anew. */
int import_resymbolize(const char *target, const struct symbols_options *symbols,
                       struct progress *progress, struct error *err);

#endif
