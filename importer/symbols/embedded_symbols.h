/* SPDX-License-Identifier: MIT */
/*
 * embedded_symbols: writes the symbols that a recording contains, instead of symbols.h.
 *
 * Writes functions, sources, frame_lines and call sites from the levels of definitions. The
 * database is then as symbols.h promises.
 *
 * Errors: memory or the database.
 */
#ifndef MTRACE_IMPORTER_EMBEDDED_SYMBOLS_H
#define MTRACE_IMPORTER_EMBEDDED_SYMBOLS_H

#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>

/* Needs the frames of the definitions in the database, and an open transaction. */
int embedded_symbols_write(sqlite3 *db, const struct definitions *definitions, struct error *err);

#endif
