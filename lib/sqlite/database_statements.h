/* SPDX-License-Identifier: MIT */
/*
 * database_statements: runs SQL on any connection. Messages name its file and end with SQLite's
 * message.
 */
#ifndef MTRACE_LIB_DATABASE_STATEMENTS_H
#define MTRACE_LIB_DATABASE_STATEMENTS_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

int database_execute(sqlite3 *db, const char *sql, struct error *err);

/* Finalize with sqlite3_finalize. */
int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct error *err);

/* The number in the first row of `sql`, which must have one. For the highest id use
 * database_ids. */
int database_get_count(sqlite3 *db, const char *sql, size_t *ret_count, struct error *err);

/*
 * Inserts one row: binds the values in order, steps and resets. A character of `types` per value:
 *   i  int64_t            u  uint64_t           z  uint64_t, 0 means NULL
 *   m  uint64_t, UINT64_MAX means NULL
 *   o  int64_t, negative means NULL
 *   t  const char *, NULL means NULL; must live until the call returns
 *   n  no argument: NULL
 */
int database_insert(sqlite3_stmt *statement, struct error *err, const char *types, ...);

/* Fills err with SQLite's last error on db; returns the code that fits (ERROR_IO when the disk is
 * full, else ERROR_DATABASE). */
int database_error(sqlite3 *db, struct error *err);

/* The same for a write to its file that failed with errnum outside of SQLite. */
int database_write_error(sqlite3 *db, int errnum, struct error *err);

#endif
