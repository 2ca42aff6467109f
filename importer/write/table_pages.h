/* SPDX-License-Identifier: MIT */
/*
 * table_pages: tables of numbers appended to a database as finished pages of its file.
 *
 * Model:   a table whose rows come in the order of their keys is a row of leaves, each full before the next one begins, with a
 *          tree of page numbers above them. That is written here directly, in the format that SQLite documents and promises to
 *          keep (sqlite.org/fileformat2.html, sections 1.6 and 2.1), for a fifth of what it costs through a statement. SQLite is out
 *          of its file meanwhile: begin ends its transaction, and end, which changes the file's change counter, begins the
 *          next one, so that it sees the file as another process would have left it.
 *          Several tables grow side by side; their leaves lie in the file in the order they became full.
 *          What parts two children of a page is the highest key below the first of them; in a table WITHOUT ROWID it is a whole
 *          row, the last one of the first child, which stands nowhere else.
 * Invariants
 *   TP-1 Keys of a table strictly increase.
 *   TP-2 A page above the leaves has at least two children.
 *   TP-3 The page that holds the byte at 2^30 is left alone: SQLite locks files there.
 *   TP-4 A row lies in one page: one of a table WITHOUT ROWID that is longer than a quarter of it, where SQLite would go on in another, is refused.
 * Threads: one, which is that of the connection.
 * Failure: errno values and SQLite's. The file is then of no use: these are for databases that are thrown away unless they
 *          become whole (database.h).
 */
#ifndef MTRACE_IMPORTER_TABLE_PAGES_H
#define MTRACE_IMPORTER_TABLE_PAGES_H

#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    TABLE_PAGES_COLUMNS = 34, /* at most */
    TABLE_PAGES_KEYS = 3,     /* of these, where there are no row ids */
};

struct table_pages;
struct page_table;

struct page_row {
    int64_t
        values[TABLE_PAGES_COLUMNS]; /* all columns of the table in its order, the key included */
    uint64_t nulls;                  /* bit i: column i is NULL */
    uint64_t reals, texts;           /* what page_row_put_* made of it; else it is an integer */
};

/* An integer, or NULL if it is null_value. */
static inline void page_row_put(struct page_row *row, unsigned column, uint64_t value,
                                uint64_t null_value)
{
    row->values[column] = (int64_t)value;
    row->nulls |= (uint64_t)(value == null_value) << column;
}

static inline void page_row_put_real(struct page_row *row, unsigned column, double value)
{
    memcpy(&row->values[column], &value, sizeof value);
    row->reals |= UINT64_C(1) << column;
}

/* A text of less than 58 bytes (all of a row together), which lives until the row is added. */
static inline void page_row_put_text(struct page_row *row, unsigned column, const char *text)
{
    row->values[column] = (int64_t)(intptr_t)text;
    row->texts |= UINT64_C(1) << column;
}

/* Commits what `db`, whose locking mode is NORMAL, has open. Until table_pages_end it must not be used. */
int table_pages_begin(sqlite3 *db, struct table_pages **ret, struct error *err);

/* `table`: empty, not WITHOUT ROWID, without indexes; column key_column of its n_columns is its INTEGER PRIMARY KEY. Belongs
 * to `pages`. */
int table_pages_open(struct table_pages *pages, const char *table, unsigned n_columns,
                     unsigned key_column, struct page_table **ret, struct error *err);

/* `table`: empty, WITHOUT ROWID, without other indexes; its first n_keys columns are its key, and integers. */
int table_pages_open_keyed(struct table_pages *pages, const char *table, unsigned n_columns,
                           unsigned n_keys, struct page_table **ret, struct error *err);

int table_pages_add(struct page_table *table, const struct page_row *row, struct error *err);

/* Everything is in the file, and db has a transaction again. */
int table_pages_end(struct table_pages *pages, struct error *err);

/* NULL is fine. */
void table_pages_free(struct table_pages *pages);

#endif
