/* SPDX-License-Identifier: MIT */
#include "queries/filter/class_rows.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/totals/report_classes.h"
#include "queries/db/rundb.h"
#include "queries/filter/row_feed.h"

#include <stdlib.h>

struct size_count {
    int64_t blocks, bytes, leaked_blocks, leaked_bytes, temporary_blocks, slack_bytes;
};

struct lifetime_count {
    int64_t blocks, bytes;
};

struct classes { /* of one process */
    struct size_count sizes[SIZE_CLASSES];
    struct lifetime_count lifetimes[LIFETIME_CLASSES];
};

struct class_rows {
    const struct rundb *database;
    struct classes **processes; /* by id; NULL: no row of the process has passed */
    size_t n;
};

static void count_size(struct size_count *count, const struct scanned_row *row)
{
    count->blocks += row->blocks;
    saturating_grow(&count->bytes, row->bytes);
    saturating_grow(&count->slack_bytes, saturating_multiply(row->blocks, row->slack_bytes));
    if (row->ended_by == ROW_FEED_LEAKED) {
        count->leaked_blocks += row->blocks;
        saturating_grow(&count->leaked_bytes, row->bytes);
    }
    if (row_feed_is_temporary(row))
        count->temporary_blocks += row->blocks;
}

static void count_lifetime(struct lifetime_count *count, const struct scanned_row *row)
{
    count->blocks += row->blocks;
    saturating_grow(&count->bytes, row->bytes);
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct class_rows *all = context;

    for (size_t i = 0; i < n; i++) {
        const struct scanned_row *row = &rows[i];
        struct classes **own = &all->processes[row->process];

        if (!*own)
            *own = calloc(1, sizeof(**own));
        if (!*own)
            return false;
        count_size(&(*own)->sizes[size_class_of((uint64_t)row->size_bytes)], row);
        if (row_feed_end_ns(row) != INT64_MAX)
            count_lifetime(&(*own)->lifetimes[lifetime_class_of((uint64_t)row->lifetime_ns)], row);
    }
    return true;
}

/* ---- tables ---- */

/* Names as in the file. */
static const char tables_sql[] =
    "CREATE TEMP TABLE size_classes(process_id INTEGER, from_bytes INTEGER, to_bytes INTEGER,"
    " allocated_blocks INTEGER, allocated_bytes INTEGER, leaked_blocks INTEGER,"
    " leaked_bytes INTEGER, temporary_blocks INTEGER, slack_bytes INTEGER,"
    " PRIMARY KEY (process_id, from_bytes)) WITHOUT ROWID;"
    "CREATE TEMP TABLE lifetime_classes(process_id INTEGER, from_ns INTEGER, to_ns INTEGER,"
    " blocks INTEGER, bytes INTEGER, PRIMARY KEY (process_id, from_ns)) WITHOUT ROWID;";

/* The numbers of a class, after its process and bounds. */
static size_t size_values(const struct classes *of, unsigned class, int64_t *values)
{
    const struct size_count *count = &of->sizes[class];

    values[0] = count->blocks;
    values[1] = count->bytes;
    values[2] = count->leaked_blocks;
    values[3] = count->leaked_bytes;
    values[4] = count->temporary_blocks;
    values[5] = count->slack_bytes;
    return 6;
}

static size_t lifetime_values(const struct classes *of, unsigned class, int64_t *values)
{
    values[0] = of->lifetimes[class].blocks;
    values[1] = of->lifetimes[class].bytes;
    return 2;
}

static const struct table {
    const char *insert;
    unsigned n_classes;
    void (*bounds_of)(unsigned class, uint64_t *ret_from, uint64_t *ret_to);
    size_t (*values_of)(const struct classes *of, unsigned class, int64_t *values);
} tables[] = {
    {"INSERT INTO temp.size_classes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", SIZE_CLASSES,
     size_class_bounds, size_values},
    {"INSERT INTO temp.lifetime_classes VALUES (?1, ?2, ?3, ?4, ?5)", LIFETIME_CLASSES,
     lifetime_class_bounds, lifetime_values},
};

static int put_classes(const struct class_rows *all, size_t process, const struct table *table,
                       struct sqlite3_stmt *insert, struct error *err)
{
    int rc = 0;

    for (unsigned class = 0; rc == 0 && class < table->n_classes; class ++) {
        int64_t values[9] = {(int64_t)process};
        size_t n = 3 + table->values_of(all->processes[process], class, &values[3]);
        uint64_t from;
        uint64_t to;

        if (values[3] == 0)
            continue;
        table->bounds_of(class, &from, &to);
        values[1] = (int64_t)from;
        values[2] = (int64_t)to;
        rc = rundb_insert(all->database, insert, values, n, err);
    }
    return rc;
}

static int put(const struct class_rows *all, const struct table *table, struct error *err)
{
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(all->database, table->insert, &insert, err);

    for (size_t i = 0; rc == 0 && i < all->n; i++) {
        if (all->processes[i])
            rc = put_classes(all, i, table, insert, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static int put_tables(const struct class_rows *all, struct rundb *database, struct error *err)
{
    int rc = rundb_run(database, tables_sql, err);

    for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
        rc = put(all, &tables[i], err);
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
    if (rc == 0)
        rc = put_tables(&all, database, err);
    for (size_t i = 0; i < all.n; i++)
        free(all.processes[i]);
    free(all.processes);
    row_feed_done(&scan);
    return rc;
}
