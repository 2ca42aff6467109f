/* SPDX-License-Identifier: MIT */
/*
 * database_guard: opens a database from an untrusted source.
 *
 * People pass a run.db around like a report, so its content is not trusted. The guard is installed
 * before the first statement of a connection. The definitions of the tables must equal those of
 * this build, comments included; another version is refused. Views and triggers of the file never
 * run: the embedded views are TEMP views over its tables. Readers check what rows say: ids by
 * database_ids and database_id, sums by a saturating sum(), text by a length limit.
 *
 * Invariants
 *   GUARD-1 No SQL of the file runs: no view, trigger, default, generated column or virtual table.
 *   GUARD-2 Memory and steps of statements are at most proportional to the size of the file.
 *   GUARD-3 The connection stays in one transaction, so it sees one version of the file.
 *
 * Errors: ERROR_FORMAT not a recording, or damaged; ERROR_VERSION; else ERROR_DATABASE with
 * SQLite's message.
 */
#ifndef MTRACE_LIB_DATABASE_GUARD_H
#define MTRACE_LIB_DATABASE_GUARD_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    DATABASE_GUARD_VERSION = 1 /* PRAGMA user_version of the schema */
};

/* When statements of a connection end early. Any thread or signal handler may set it; it stays
 * set. */
struct database_stop {
    atomic_bool is_wanted;
    _Atomic int64_t until_ns; /* CLOCK_MONOTONIC; 0: no limit */
};

struct database_guard {
    const struct database_stop *stop; /* NULL: statements are not interrupted */
    int64_t steps_left;
    bool is_exhausted; /* the statement that failed with SQLITE_INTERRUPT ran out of steps */
};

/*
 * Configures the connection, checks the file and leaves a read or write transaction open. The
 * caller sets guard->stop before. guard and guard->stop must live as long as the connection.
 */
int database_guard_put(struct database_guard *guard, struct sqlite3 *db, const char *path,
                       bool is_writing, struct error *err);

/* Fills err for SQLite's last failure on the connection. doing: "reading". guard may be NULL. */
int database_guard_error(const struct database_guard *guard, struct sqlite3 *db, const char *path,
                         const char *doing, struct error *err);

/* Fills err with ERROR_INTERRUPTED after a stop that SQLite has not seen. */
int database_guard_stopped(const struct database_guard *guard, const char *path, const char *doing,
                           struct error *err);

/* A stop is wanted, or the time limit is over. stop may be NULL. */
bool database_stop_is_due(const struct database_stop *stop);

/* Removes the limit of steps, for a statement of the user. */
void database_guard_lift_steps(struct database_guard *guard);

/* Replaces sum() by one that saturates at 64 bits. */
int database_guard_add_sum(struct sqlite3 *db, struct error *err);

/* Creates the embedded views as TEMP views, which take precedence over those of the file. */
int database_guard_load_views(struct sqlite3 *db, struct error *err);

/* ---- ids: small and dense, so that arrays can be indexed by them ---- */

/* The highest id of a table plus one; ERROR_FORMAT if the file is too small for so many rows. */
int database_ids(struct sqlite3 *db, const char *table, const char *id, size_t *ret_n_ids,
                 struct error *err);

/* The id in a column of the current row, 0 (no id) when it is not below n_ids. */
static inline int64_t database_id(struct sqlite3_stmt *row, int column, size_t n_ids)
{
    int64_t id = sqlite3_column_int64(row, column);

    return id > 0 && (uint64_t)id < n_ids ? id : 0;
}

#endif
