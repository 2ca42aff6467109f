/* SPDX-License-Identifier: MIT */
#include "queries/filter/class_rows.h"

#include "queries/database/rundb.h"
#include "queries/filter/row_scan.h"
#include "queries/filter/time_rows.h"
#include "support/error.h"
#include "support/lifetime_class.h"
#include "support/saturating.h"
#include "support/size_class.h"

#include <stdlib.h>

enum {
    SIZE_CLASSES = 256 /* more than there are */
};

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
    struct classes **processes; /* by id; NULL: no row of it has passed */
    size_t n;
};

static void count_size(struct size_count *count, const struct scanned_row *row)
{
    count->blocks += row->blocks;
    saturating_grow(&count->bytes, row->bytes);
    saturating_grow(&count->slack_bytes, saturating_multiply(row->blocks, row->slack_bytes));
    if (row->ended_by == ROW_SCAN_LEAKED) {
        count->leaked_blocks += row->blocks;
        saturating_grow(&count->leaked_bytes, row->bytes);
    }
    count->temporary_blocks += time_rows_counts(TIME_ROWS_TEMPORARY, row);
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
        if (row_scan_end_ns(row) != INT64_MAX)
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

static int put_sizes(const struct class_rows *all, size_t process, struct sqlite3_stmt *insert,
                     struct error *err)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < SIZE_CLASSES; i++) {
        const struct size_count *count = &all->processes[process]->sizes[i];
        uint64_t from;
        uint64_t to;

        if (count->blocks == 0)
            continue;
        size_class_bounds(i, &from, &to);
        rc = rundb_insert(all->database, insert,
                          (const int64_t[]){(int64_t)process, (int64_t)from, (int64_t)to,
                                            count->blocks, count->bytes, count->leaked_blocks,
                                            count->leaked_bytes, count->temporary_blocks,
                                            count->slack_bytes},
                          9, err);
    }
    return rc;
}

static int put_lifetimes(const struct class_rows *all, size_t process, struct sqlite3_stmt *insert,
                         struct error *err)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < LIFETIME_CLASSES; i++) {
        const struct lifetime_count *count = &all->processes[process]->lifetimes[i];
        uint64_t from;
        uint64_t to;

        if (count->blocks == 0)
            continue;
        lifetime_class_bounds(i, &from, &to);
        rc = rundb_insert(all->database, insert,
                          (const int64_t[]){(int64_t)process, (int64_t)from, (int64_t)to,
                                            count->blocks, count->bytes},
                          5, err);
    }
    return rc;
}

static int put(const struct class_rows *all, const char *sql,
               int (*put_process)(const struct class_rows *all, size_t process,
                                  struct sqlite3_stmt *insert, struct error *err),
               struct error *err)
{
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(all->database, sql, &insert, err);

    for (size_t i = 0; rc == 0 && i < all->n; i++) {
        if (all->processes[i])
            rc = put_process(all, i, insert, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static int put_tables(const struct class_rows *all, struct rundb *database, struct error *err)
{
    int rc = rundb_run(database, tables_sql, err);

    if (rc == 0)
        rc = put(all, "INSERT INTO temp.size_classes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                 put_sizes, err);
    return rc == 0 ? put(all, "INSERT INTO temp.lifetime_classes VALUES (?1, ?2, ?3, ?4, ?5)",
                         put_lifetimes, err)
                   : rc;
}

int class_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct class_rows all = {.database = database};
    struct row_scan scan;
    int rc = row_scan_init(&scan, database, err);

    if (rc == 0) {
        all.processes = calloc(scan.n_processes, sizeof(struct classes *));
        if (!all.processes)
            rc = error_set(err, ERROR_NOMEM, "no memory for %zu processes", scan.n_processes);
        all.n = all.processes ? scan.n_processes : 0;
    }
    if (rc == 0)
        rc = row_scan_run(&scan, filter, take, &all, err);
    if (rc == 0)
        rc = put_tables(&all, database, err);
    for (size_t i = 0; i < all.n; i++)
        free(all.processes[i]);
    free(all.processes);
    row_scan_done(&scan);
    return rc;
}
