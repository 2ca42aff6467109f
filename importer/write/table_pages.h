/* SPDX-License-Identifier: MIT */
/*
 * table_pages: appends tables of numbers to a database as finished b-tree pages.
 *
 * If rows come in order of their keys, a table is a sequence of full leaves with a tree of page
 * numbers above. This module writes it in SQLite's documented, stable format
 * (sqlite.org/fileformat2.html, sections 1.6 and 2.1), at a fifth of the cost of INSERT.
 *
 * SQLite must not use the file in between: table_pages_begin ends its transaction. table_pages_end
 * updates the file's change counter and begins the next one: SQLite then sees a file changed by
 * another process.
 *
 * Several tables grow in parallel; their leaves are in the file in the order in which they became
 * full. The divider between two children of a page is the highest key of the first one. In a table
 * WITHOUT ROWID it is a whole row, the last one of the first child, stored nowhere else.
 *
 * Invariants
 *   TP-1 Keys of a table strictly increase.
 *   TP-2 A page above the leaves has at least two children.
 *   TP-3 The page with the byte at 2^30 is skipped: SQLite uses it for file locks.
 *   TP-4 A row fits in one page. In a table WITHOUT ROWID, a row longer than a quarter of a page is
 *        refused, as SQLite would need an overflow page.
 *
 * Threads: that of the connection.
 * Errors: errno values and SQLite's. The file is then unusable: use this only for databases that
 * are discarded unless they are completed (database.h).
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
    TABLE_PAGES_KEYS = 3,     /* of these in the key of a table WITHOUT ROWID */
};

struct table_pages;
struct page_table;

struct page_row {
    int64_t
        values[TABLE_PAGES_COLUMNS]; /* all columns of the table in its order, the key included */
    uint64_t nulls;                  /* bit i: column i is NULL */
    uint64_t reals, texts;           /* by page_row_put_*: bits of columns that are not integers */
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

/* A text, valid until the row is added. All texts of a row have less than 58 bytes together. */
static inline void page_row_put_text(struct page_row *row, unsigned column, const char *text)
{
    row->values[column] = (int64_t)(intptr_t)text;
    row->texts |= UINT64_C(1) << column;
}

/* Commits the transaction of `db`, whose locking mode is NORMAL. `db` must not be used until
 * table_pages_end. */
int table_pages_begin(sqlite3 *db, struct table_pages **ret, struct error *err);

/* `table`: empty, not WITHOUT ROWID, without indexes. Column key_column of its n_columns is its
 * INTEGER PRIMARY KEY. *ret belongs to `pages`. */
int table_pages_open(struct table_pages *pages, const char *table, unsigned n_columns,
                     unsigned key_column, struct page_table **ret, struct error *err);

/* `table`: empty, WITHOUT ROWID, without other indexes. Its first n_keys columns are the key, and
 * integers. */
int table_pages_open_keyed(struct table_pages *pages, const char *table, unsigned n_columns,
                           unsigned n_keys, struct page_table **ret, struct error *err);

int table_pages_add(struct page_table *table, const struct page_row *row, struct error *err);

/* Writes all remaining pages and begins a transaction of db. */
int table_pages_end(struct table_pages *pages, struct error *err);

/* NULL is fine. */
void table_pages_free(struct table_pages *pages);

#endif
