/* SPDX-License-Identifier: MIT */
/*
 * database: the SQLite file that an import makes, whole or not at all.
 *
 * Model:   a new database is written under another name beside its target, in one transaction and
 *          without a journal, because an unfinished file is thrown away anyhow; database_commit
 *          brings it to the disk and into its place (output_file.h). An existing one (to symbolize again, to follow a log) is
 *          changed in place, in one transaction with SQLite's own rollback journal.
 * Invariants
 *   DB-1 Until database_commit returns 0 the target is what it was before.
 *   DB-2 After database_close nothing is left of an uncommitted database.
 *   DB-3 Only a database of ours is ever changed in place, only a regular file replaced.
 * Threads: a database is used by one thread at a time.
 * Failure: every message names the target.
 */
#ifndef MTRACE_IMPORTER_DATABASE_H
#define MTRACE_IMPORTER_DATABASE_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

/* An empty database with small pages, as bytes: for who makes many, since to make its tables and views takes longer than to read them. The views of
 * reports may be left out: whoever opens a database parses them all, which takes five times as long as its tables, and mtrace-query
 * has its own (database_guard.h). */
struct database_blank {
    unsigned char *bytes;
    size_t n_bytes;
};

/* Call database_blank_done. */
int database_blank_make(struct database_blank *blank, bool has_views, struct error *err);

/* All zero is fine. */
void database_blank_done(struct database_blank *blank);

/* Creates an empty database with all tables and views; a transaction is open. An existing target is an error
 * (ERROR_EXISTS) unless `replace`. Pages are small when it will stay so, by expected_bytes; then it begins as
 * `blank` is, unless that is NULL. The caller frees with database_close. */
int database_create(const char *target, bool replace, uint64_t expected_bytes,
                    const struct database_blank *blank, struct database **ret, struct error *err);

/* Opens a database of ours and begins a transaction. */
int database_open(const char *target, struct database **ret, struct error *err);

/* Before the commit: it is removed soon, and a crash of the machine may take it. */
void database_let_pass(struct database *database);

/* Ends the transaction and puts the file in its place. */
int database_commit(struct database *database, struct error *err);

/* NULL is fine. Without a commit before, nothing has happened (DB-1, DB-2). */
void database_close(struct database *database);

sqlite3 *database_sqlite(struct database *database);

/* Whether `needed_bytes` more fit where `path` lies or will lie; ERROR_IO if not. */
int database_check_space(const char *path, uint64_t needed_bytes, struct error *err);

/* ---- statements: `db` is any connection; messages end with SQLite's own words ---- */

int database_execute(sqlite3 *db, const char *sql, struct error *err);

/* Finalize with sqlite3_finalize. */
int database_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct error *err);

/* The count in the first row that `sql` gives; it must give one. Highest ids: database_ids. */
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
