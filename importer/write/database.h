/* SPDX-License-Identifier: MIT */
/*
 * database: creates the SQLite file of an import, or changes one, atomically.
 *
 * A new database is written under a temporary name beside the target, in one transaction without a
 * journal. database_commit syncs and renames it (output_file.h). An existing one is changed in
 * place, in one transaction with a rollback journal.
 *
 * Invariants
 *   DB-1 Until database_commit returns 0 the target is unchanged.
 *   DB-2 After database_close nothing is left of an uncommitted database.
 *   DB-3 Only a recording is changed in place; only a regular file is replaced.
 *
 * Threads: one at a time per database. Every message names the target.
 */
#ifndef MTRACE_IMPORTER_DATABASE_H
#define MTRACE_IMPORTER_DATABASE_H

#include "lib/base/error.h"
#include "lib/sqlite/database_statements.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

/*
 * The bytes of an empty database with small pages: copying them is faster than creating the tables
 * and views. The views of reports can be omitted: mtrace-query has its own (database_guard.h), and
 * parsing them takes five times as long as parsing the tables.
 */
struct database_blank {
    unsigned char *bytes;
    size_t n_bytes;
};

/* Call database_blank_done. */
int database_blank_make(struct database_blank *blank, struct error *err);

/* All zero is fine. */
void database_blank_done(struct database_blank *blank);

/*
 * Creates an empty database with all tables and views and begins a transaction. ERROR_EXISTS if the
 * target exists, unless `replace`. If expected_bytes is small, pages are small and the file begins
 * as a copy of `blank` (may be NULL). Free with database_close.
 */
int database_create(const char *target, bool replace, uint64_t expected_bytes,
                    const struct database_blank *blank, struct database **ret, struct error *err);

/* Opens a recording and begins a transaction. */
int database_open(const char *target, struct database **ret, struct error *err);

/* Before the commit of a temporary database: do not sync it to disk. */
void database_let_pass(struct database *database);

/* Ends the transaction and puts the file in its place. */
int database_commit(struct database *database, struct error *err);

/* database may be NULL. Discards what was not committed (DB-1, DB-2). */
void database_close(struct database *database);

sqlite3 *database_sqlite(struct database *database);

/* ERROR_IO unless the file system of `path` has needed_bytes left. */
int database_check_space(const char *path, uint64_t needed_bytes, struct error *err);

#endif
