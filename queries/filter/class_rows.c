/* SPDX-License-Identifier: MIT */
#include "queries/filter/class_rows.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/totals/report_classes.h"
#include "queries/db/rundb.h"
#include "queries/filter/row_feed.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 6 /* after the process and the bounds of a class, in the order of the table */
};

struct classes { /* of one process */
    int64_t sizes[SIZE_CLASSES][MAX_COLUMNS];
    int64_t lifetimes[LIFETIME_CLASSES][MAX_COLUMNS];
};

struct class_rows {
    const struct rundb *database;
    struct classes **processes; /* by id; NULL: no row of the process has passed */
    size_t n;
};

static void count(int64_t *columns, int64_t blocks, int64_t bytes)
{
    columns[0] += blocks;
    saturating_grow(&columns[1], bytes);
}

static void count_row(struct classes *own, const struct scanned_row *row)
{
    int64_t *size = own->sizes[size_class_of((uint64_t)row->size_bytes)];

    count(&size[0], row->blocks, row->bytes);
    if (row->ended_by == ROW_FEED_LEAKED)
        count(&size[2], row->blocks, row->bytes);
    count(&size[4], row_feed_is_temporary(row) ? row->blocks : 0,
          saturating_multiply(row->blocks, row->slack_bytes));
    if (row_feed_end_ns(row) != INT64_MAX)
        count(own->lifetimes[lifetime_class_of((uint64_t)row->lifetime_ns)], row->blocks,
              row->bytes);
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct class_rows *all = context;

    for (size_t i = 0; i < n; i++) {
        struct classes **own = &all->processes[rows[i].process];

        if (!*own)
            *own = calloc(1, sizeof(**own));
        if (!*own)
            return false;
        count_row(*own, &rows[i]);
    }
    return true;
}

/* ---- tables ---- */

static const struct table {
    const char *sql, *insert;
    size_t at, n_columns; /* in struct classes; of a class */
    unsigned n_classes;
    void (*bounds_of)(unsigned class, uint64_t *ret_from, uint64_t *ret_to);
} tables[] = {
    {"CREATE TEMP TABLE size_classes AS SELECT * FROM main.size_classes WHERE 0",
     "INSERT INTO temp.size_classes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
     offsetof(struct classes, sizes), 6, SIZE_CLASSES, size_class_bounds},
    {"CREATE TEMP TABLE lifetime_classes AS SELECT * FROM main.lifetime_classes WHERE 0",
     "INSERT INTO temp.lifetime_classes VALUES (?1, ?2, ?3, ?4, ?5)",
     offsetof(struct classes, lifetimes), 2, LIFETIME_CLASSES, lifetime_class_bounds},
};

static int put_classes(const struct class_rows *all, size_t process, const struct table *table,
                       struct sqlite3_stmt *insert, struct error *err)
{
    const void *classes = (const char *)all->processes[process] + table->at;
    const int64_t *columns = classes;
    int rc = 0;

    for (unsigned class = 0; rc == 0 && class < table->n_classes;
         class ++, columns += MAX_COLUMNS) {
        int64_t values[3 + MAX_COLUMNS] = {(int64_t)process};
        uint64_t from;
        uint64_t to;

        if (columns[0] == 0)
            continue;
        table->bounds_of(class, &from, &to);
        values[1] = (int64_t)from;
        values[2] = (int64_t)to;
        memcpy(&values[3], columns, table->n_columns * sizeof(*values));
        rc = rundb_insert(all->database, insert, values, 3 + table->n_columns, err);
    }
    return rc;
}

static int put(const struct class_rows *all, struct rundb *database, const struct table *table,
               struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, table->sql, err);

    if (rc == 0)
        rc = rundb_prepare(database, table->insert, &insert, err);
    for (size_t i = 0; rc == 0 && i < all->n; i++) {
        if (all->processes[i])
            rc = put_classes(all, i, table, insert, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

int class_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct class_rows all = {.database = database};
    struct row_feed scan;
    int rc = row_feed_init(&scan, database, err);

    if (rc == 0) {
        all.processes = calloc(scan.n_processes, sizeof(struct classes *));
        if (!all.processes)
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu processes", scan.n_processes);
        all.n = all.processes ? scan.n_processes : 0;
    }
    if (rc == 0)
        rc = row_feed_run(&scan, filter, take, &all, err);
    for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
        rc = put(&all, database, &tables[i], err);
    for (size_t i = 0; i < all.n; i++)
        free(all.processes[i]);
    free(all.processes);
    row_feed_done(&scan);
    return rc;
}
