/* SPDX-License-Identifier: MIT */
/*
 * symbols: names and lines for every frame of a database, and the call site of every stack.
 *
 * Reads objects, frames and backtraces; writes functions, sources, frame_lines, call_sites,
 * objects.debug_path, objects.debug_note and backtraces.call_site_id. Each object is read by one
 * thread; only the caller's thread writes the database.
 *
 * Invariants
 *   IS-1 Existing rows are replaced, so `--resymbolize` is the same call.
 *   IS-2 Every frame has inline_level 0, even if nothing is known about it.
 *   IS-3 The result does not depend on the number of threads.
 *   IS-4 A frame outside any object keeps its name in level 0, which has no other source.
 *
 * Errors: memory, the database, or ERROR_INTERRUPTED. An object that cannot be read is no failure;
 * its debug_note says why.
 */
#ifndef MTRACE_IMPORTER_SYMBOLS_H
#define MTRACE_IMPORTER_SYMBOLS_H

#include "importer/symbols/symbol_jobs.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Default of cache_dir: ${XDG_CACHE_HOME:-~/.cache}/mtrace. NULL if there is no home. The caller
 * frees it. */
char *symbols_default_cache_dir(void);

/* Needs objects, frames and backtraces in the database, and an open transaction, which the caller
 * rolls back after a failure. */
int symbols_write(sqlite3 *db, const struct symbols_options *options, struct error *err);

#endif
