/* SPDX-License-Identifier: MIT */
/*
 * symbols: names and lines for every frame of a database, and the call site of every stack.
 *
 * Model: reads objects, frames and backtraces; writes functions, sources, frame_lines, call_sites,
 *        objects.debug_path, objects.debug_note and backtraces.call_site_id. One object is read by
 *        one thread; the database is written by the caller's alone.
 * Invariants
 *   IS-1 whatever was there before is replaced, so that `--resymbolize` is the same call.
 *   IS-2 every frame has inline_level 0, also when nothing is known about it.
 *   IS-3 the result does not depend on the number of threads.
 *   IS-4 a frame outside any object keeps the name it has in level 0: nobody else knows it.
 * Failure: memory, the database, or ERROR_INTERRUPTED. An object that
 *          cannot be read is not a failure; its debug_note says why.
 */
#ifndef MTRACE_IMPORTER_SYMBOLS_H
#define MTRACE_IMPORTER_SYMBOLS_H

#include "importer/symbols/symbols_options.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Default of cache_dir: ${XDG_CACHE_HOME:-~/.cache}/mtrace. NULL when there is no home; to be
 * freed. */
char *symbols_default_cache_dir(void);

/* Needs objects, frames and backtraces in the database, and a transaction of the caller's, who
 * rolls it back when this fails. */
int symbols_write(sqlite3 *db, const struct symbols_options *options, struct error *err);

#endif
