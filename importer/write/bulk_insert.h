/* SPDX-License-Identifier: MIT */
/*
 * bulk_insert: arrays of C structs into a table, as fast as SQLite can take them.
 *
 * Model:   an array shows itself to SQLite as a virtual table, and one INSERT … SELECT copies it.
 *          Nothing is bound and no statement is stepped per row, and a table whose integer primary
 *          key is not among the columns is appended to without looking for the key: about twice
 *          the rate of a prepared INSERT of single rows.
 * Threads: those of the connection.
 * Failure: SQLite's; a row that a constraint refuses fails the whole call.
 */
#ifndef MTRACE_IMPORTER_BULK_INSERT_H
#define MTRACE_IMPORTER_BULK_INSERT_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>

struct bulk_insert;

/* Gives one value of a row to SQLite through sqlite3_result_*; no call means NULL. */
typedef void bulk_column_fn(const void *row, int column, sqlite3_context *context);

/* `into` is a table with its column list: "t(a, b)"; static or living as long as the result. */
int bulk_insert_open(sqlite3 *db, const char *into, int n_columns, bulk_column_fn *column,
                     size_t row_bytes, struct bulk_insert **ret, struct error *err);

/* Appends n_rows rows. */
int bulk_insert_rows(struct bulk_insert *bulk, const void *rows, size_t n_rows, struct error *err);

/* NULL is fine. */
void bulk_insert_close(struct bulk_insert *bulk);

#endif
