/* SPDX-License-Identifier: MIT */
/*
 * given_symbols: the names that a recording has itself, in place of those of symbols.h.
 *
 * Model:   writes functions, sources, frame_lines and call sites from the levels of definitions.
 *          The database is then as symbols.h promises.
 * Failure: memory or the database.
 */
#ifndef MTRACE_IMPORTER_EMBEDDED_SYMBOLS_H
#define MTRACE_IMPORTER_EMBEDDED_SYMBOLS_H

#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* Needs the frames of the definitions in the database, and a transaction of the caller's. */
int embedded_symbols_write(sqlite3 *db, const struct definitions *definitions, struct error *err);

#endif
