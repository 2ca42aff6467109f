/* SPDX-License-Identifier: MIT */
#include "queries/filter/thread_rows.h"

#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/own_peaks.h"
#include "queries/filter/row_feed.h"
#include "queries/filter/row_sums.h"

#include <stdlib.h>

struct work { /* of one thread */
    int64_t allocated_blocks, allocated_bytes;
    int64_t freed_blocks, freed_bytes;
    int64_t leaked_blocks, leaked_bytes;
};

struct works {
    const struct rundb *database;
    struct work *list; /* by thread_id */
    size_t n;
    struct own_peaks peaks; /* by thread_id */
    struct hash_map flows;  /* pair_totals_entry: the allocating thread and the freeing thread */
};

static void count(int64_t *blocks, int64_t *bytes, const struct scanned_row *row)
{
    *blocks += row->blocks;
    saturating_grow(bytes, row->bytes);
}

static bool take_end(struct works *works, const struct scanned_row *row)
{
    struct work *own = &works->list[row->thread];
    struct work *ender = &works->list[row->free_thread];

    if (row->ended_by == ROW_FEED_LEAKED)
        count(&own->leaked_blocks, &own->leaked_bytes, row);
    if (!row_feed_is_ended_by_call(row) || row->free_thread == 0)
        return true;
    count(&ender->freed_blocks, &ender->freed_bytes, row);
    return row_sums_add_pair(&works->flows, row, row->thread, row->free_thread, 1);
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct works *works = context;

    for (size_t i = 0; i < n; i++) {
        const struct scanned_row *row = &rows[i];
        struct work *own = &works->list[row->thread];

        count(&own->allocated_blocks, &own->allocated_bytes, row);
        if (!own_peaks_allocated(&works->peaks, row->thread, row->alloc_ns,
                                 (struct own_peaks_size){row->bytes, row->bytes_variance},
                                 row_feed_end_ns(row))
            || !take_end(works, row))
            return false;
    }
    return true;
}

/* ---- tables ---- */

/* Names as in the file; columns that are not counted here are copied from the file. */
static const char tables_sql[] =
    "CREATE TEMP TABLE _thread_work(thread_id INTEGER PRIMARY KEY, allocated_blocks INTEGER,"
    " allocated_bytes INTEGER, freed_blocks INTEGER, freed_bytes INTEGER, leaked_blocks INTEGER,"
    " leaked_bytes INTEGER, peak_bytes INTEGER);"
    "CREATE TEMP VIEW threads AS SELECT t.thread_id, t.process_id, t.tid, t.name, t.start_ns,"
    " t.end_ns, w.allocated_blocks, w.allocated_bytes, w.freed_blocks, w.freed_bytes,"
    " w.leaked_blocks, w.leaked_bytes, w.peak_bytes, t.stack_address, t.stack_bytes"
    " FROM main.threads AS t LEFT JOIN temp._thread_work AS w ON w.thread_id = t.thread_id;"
    "CREATE TEMP TABLE thread_flows AS SELECT * FROM main.thread_flows WHERE 0;";

static int put_work(const struct works *works, struct error *err)
{
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(works->database,
                           "INSERT INTO temp._thread_work VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                           &insert, err);

    for (size_t i = 0; rc == 0 && i < works->n; i++) {
        const struct work *work = &works->list[i];
        const int64_t values[] = {(int64_t)i,
                                  work->allocated_blocks,
                                  work->allocated_bytes,
                                  work->freed_blocks,
                                  work->freed_bytes,
                                  work->leaked_blocks,
                                  work->leaked_bytes,
                                  i < works->peaks.n ? works->peaks.list[i].peak_bytes : 0};

        rc = rundb_insert(works->database, insert, values, sizeof(values) / sizeof(values[0]), err);
    }
    sqlite3_finalize(insert);
    return rc;
}

static int put_tables(struct works *works, struct rundb *database, struct error *err)
{
    int rc = rundb_run(database, tables_sql, err);

    own_peaks_finish(&works->peaks);
    pair_totals_sort(&works->flows);
    if (rc == 0)
        rc = put_work(works, err);
    return rc == 0 ? row_sums_put_pairs(database, &works->flows,
                                        "INSERT INTO temp.thread_flows VALUES (?1, ?2, ?3, ?4, ?5)",
                                        err)
                   : rc;
}

int thread_rows_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct works works = {.database = database};
    struct row_feed scan;
    int rc = row_feed_init(&scan, database, err);

    if (rc == 0) {
        works.n = scan.n_threads;
        works.list = calloc(works.n, sizeof(*works.list));
        rc = works.list ? row_feed_run_whole(&scan, filter, take, &works, err)
                        : error_set(err, ERROR_NOMEM, "no memory for %zu threads", works.n);
    }
    if (rc == 0)
        rc = put_tables(&works, database, err);
    free(works.list);
    own_peaks_done(&works.peaks);
    hash_map_done(&works.flows);
    row_feed_done(&scan);
    return rc;
}
