/* SPDX-License-Identifier: MIT */
/*
 * bulk_insert: inserts arrays of C structs into a table.
 *
 * A virtual table presents the array to SQLite, and one INSERT … SELECT copies it. So nothing is
 * bound or stepped per row. If the integer primary key is not among the columns, SQLite appends
 * without a lookup. This takes half the time of a prepared INSERT per row.
 *
 * Threads: those of the connection.
 * Errors: SQLite's; a row that violates a constraint fails the whole call.
 */
#ifndef MTRACE_IMPORTER_BULK_INSERT_H
#define MTRACE_IMPORTER_BULK_INSERT_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>

struct bulk_insert;

/* Gives one value of a row to SQLite through sqlite3_result_*; no call means NULL. */
typedef void bulk_column_fn(const void *row, int column, sqlite3_context *context);

/* `into` is a table with its column list: "t(a, b)". It is static or lives as long as the
 * result. */
int bulk_insert_open(sqlite3 *db, const char *into, int n_columns, bulk_column_fn *column,
                     size_t row_bytes, struct bulk_insert **ret, struct error *err);

/* Appends n_rows rows. */
int bulk_insert_rows(struct bulk_insert *bulk, const void *rows, size_t n_rows, struct error *err);

/* NULL is fine. */
void bulk_insert_close(struct bulk_insert *bulk);

#endif
