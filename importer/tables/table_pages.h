/* SPDX-License-Identifier: MIT */
/*
 * table_pages: tables of integers appended to a database as finished pages of its file.
 *
 * Model:   a table whose rows come in the order of their keys is a row of leaves, each full before the next one begins, with a
 *          tree of page numbers above them. That is written here directly, in the format that SQLite documents and promises to
 *          keep (sqlite.org/fileformat2.html, sections 1.6 and 2.1), for a fifth of what it costs through a statement. SQLite is out
 *          of its file meanwhile: begin ends its transaction, and end, which changes the file's change counter, begins the
 *          next one, so that it sees the file as another process would have left it.
 *          Several tables grow side by side; their leaves lie in the file in the order they became full.
 * Invariants
 *   TP-1 Keys of a table strictly increase.
 *   TP-2 A page above the leaves has at least two children.
 *   TP-3 The page that holds the byte at 2^30 is left alone: SQLite locks files there.
 * Threads: one, which is that of the connection.
 * Failure: errno values and SQLite's. The file is then of no use: these are for databases that are thrown away unless they
 *          become whole (database.h).
 */
#ifndef MTRACE_IMPORTER_TABLE_PAGES_H
#define MTRACE_IMPORTER_TABLE_PAGES_H

#include "support/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TABLE_PAGES_COLUMNS = 14 /* at most: lengths of a row of these take one byte */
};

struct table_pages;
struct page_table;

struct page_row {
    int64_t
        values[TABLE_PAGES_COLUMNS]; /* all columns of the table in its order, the key included */
    uint32_t nulls;                  /* bit i: column i is NULL */
};

/* Commits what `db`, whose locking mode is NORMAL, has open. Until table_pages_end it must not be used. */
int table_pages_begin(sqlite3 *db, struct table_pages **ret, struct error *err);

/* `table`: empty, not WITHOUT ROWID, without indexes; column key_column of its n_columns is its INTEGER PRIMARY KEY. Belongs
 * to `pages`. */
int table_pages_open(struct table_pages *pages, const char *table, unsigned n_columns,
                     unsigned key_column, struct page_table **ret, struct error *err);

int table_pages_add(struct page_table *table, const struct page_row *row, struct error *err);

/* Everything is in the file, and db has a transaction again. */
int table_pages_end(struct table_pages *pages, struct error *err);

/* NULL is fine. */
void table_pages_free(struct table_pages *pages);

#endif
