/* SPDX-License-Identifier: MIT */
/*
 * database_guard: a database file that anybody may have made, read without being led by it.
 *
 * Model: a run.db is passed around like any report, so nothing in it is believed. The guard is put
 *        before a connection's first statement. Tables must be the ones this build knows, by their
 *        definition: a file of another version is refused, too, because what it holds means
 *        something else. Its views, triggers and functions are never run: the embedded views are
 *        loaded as TEMP views over its tables. What rows say is bounded where it is read: ids by
 *        database_ids and database_id, sums by a sum() that keeps to 64 bits, text by a length,
 *        and the work of SQLite by steps and memory in proportion to the file.
 * Invariants
 *   GUARD-1 no SQL of the file runs: no view, trigger, default, generated column, virtual table.
 *   GUARD-2 memory and steps of statements are at most proportional to the file's size.
 *   GUARD-3 from database_guard_put on the connection sees one state of the file (it stays inside
 *   one transaction).
 * Threads: the connection's. Failure: ERROR_FORMAT not ours or damaged; ERROR_VERSION tables of
 * another version; else what SQLite said, as ERROR_DATABASE.
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

/* When the statements of a connection shall end early. It may be set by any thread and by a signal
 * handler, and stays set. */
struct database_stop {
    atomic_bool is_wanted;
    _Atomic int64_t until_ns; /* of CLOCK_MONOTONIC; 0: for ever */
};

struct database_guard {
    const struct database_stop *stop; /* NULL: nobody stops */
    int64_t steps_left;
    bool is_exhausted; /* the statement that failed with SQLITE_INTERRUPT ran out of steps */
};

/* Settings, then the checks of the file; an open transaction remains: of writing, or of reading.
 * `guard` and `guard->stop`, which the caller sets before, must live as long as the
 * connection. */
int database_guard_put(struct database_guard *guard, struct sqlite3 *db, const char *path,
                       bool is_writing, struct error *err);

/* What SQLite's last failure on the connection means to a person. doing: "reading". guard NULL: it was not put. */
int database_guard_error(const struct database_guard *guard, struct sqlite3 *db, const char *path,
                         const char *doing, struct error *err);

/* A stop came, before SQLite saw it. */
int database_guard_stopped(const struct database_guard *guard, const char *path, const char *doing,
                           struct error *err);

/* Whether a stop is wanted, or due by now; NULL never is. */
bool database_stop_is_due(const struct database_stop *stop);

/* The user's own statement may take as long as it takes. */
void database_guard_lift_steps(struct database_guard *guard);

/* sum() that neither fails nor wraps: it ends at the ends of 64 bits. */
int database_guard_add_sum(struct sqlite3 *db, struct error *err);

/* The embedded views of schema and reports, as TEMP views, which win over the file's. */
int database_guard_load_views(struct sqlite3 *db, struct error *err);

/* ---- ids: small and dense, as importers give them out, so arrays are indexed by them ---- */

/* One more than the highest id of a table; ERROR_FORMAT when there is no room for so many rows in
 * the file. */
int database_ids(struct sqlite3 *db, const char *table, const char *id, size_t *ret_n_ids,
                 struct error *err);

/* The id in a column of the current row, 0 (no id) when it is not below n_ids. */
static inline int64_t database_id(struct sqlite3_stmt *row, int column, size_t n_ids)
{
    int64_t id = sqlite3_column_int64(row, column);

    return id > 0 && (uint64_t)id < n_ids ? id : 0;
}

#endif
