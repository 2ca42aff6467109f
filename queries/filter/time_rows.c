/* SPDX-License-Identifier: MIT */
#include "queries/filter/time_rows.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/error.h"
#include "lib/base/saturating.h"
#include "lib/totals/sample_weight.h"
#include "queries/db/rundb.h"
#include "queries/filter/expiry_heap.h"
#include "queries/filter/filter_sql.h"
#include "queries/filter/row_feed.h"

#include <stdlib.h>

struct bucket {
    int64_t start_ns, end_ns;
    int64_t live_bytes, live_blocks, peak_bytes, low_bytes;
    int64_t allocated_blocks, allocated_bytes, freed_blocks, freed_bytes;
    int64_t leaked_blocks, leaked_bytes; /* allocated up to its end */
    /* Of bytes, for samples. */
    double live_variance, peak_variance, allocated_variance, freed_variance, leaked_variance;
};

/* The position of a process in its buckets. */
struct way {
    struct bucket *buckets;
    size_t n, capacity;
    size_t current; /* n: after the last */
    bool is_inside; /* the first bucket was reached */
    int64_t at_ns, live_bytes, live_blocks;
    int64_t leaked_bytes, leaked_blocks; /* of blocks allocated so far */
    double live_variance, leaked_variance;
};

struct times {
    const struct time_rows_request *request;
    struct way *ways; /* by process */
    size_t n_processes;
    const uint64_t *mean_of; /* as in row_feed */
    struct expiry_heap frees;
};

unsigned time_rows_without(enum time_rows_which which)
{
    return ROW_FEED_SLACK | ROW_FEED_FREE
           | (which == TIME_ROWS_TEMPORARY ? 0u : ROW_FEED_INTERVENING);
}

bool time_rows_counts(enum time_rows_which which, const struct scanned_row *row)
{
    switch (which) {
    case TIME_ROWS_LEAKED:
        return row->ended_by == ROW_FEED_LEAKED;
    case TIME_ROWS_TEMPORARY:
        return row_feed_is_temporary(row);
    default:
        return true;
    }
}

/* ---- buckets ---- */

static int add_bucket(struct way *way, int64_t start_ns, int64_t end_ns, struct error *err)
{
    struct bucket *buckets =
        dynamic_array_reserve(way->buckets, &way->capacity, way->n + 1, sizeof(*buckets));

    if (!buckets)
        return error_set(err, ERROR_NOMEM, "no memory for %zu parts of time", way->n);
    way->buckets = buckets;
    buckets[way->n++] =
        (struct bucket){.start_ns = start_ns, .end_ns = end_ns, .low_bytes = INT64_MAX};
    return 0;
}

static int divide(struct way *way, int64_t from_ns, int64_t to_ns, struct error *err)
{
    double width = ((double)to_ns - (double)from_ns) / TIME_ROWS_BUCKETS;
    int64_t start_ns = from_ns;
    int rc = 0;

    for (int i = 1; rc == 0 && i <= TIME_ROWS_BUCKETS; i++) {
        int64_t end_ns = i == TIME_ROWS_BUCKETS ? to_ns : from_ns + (int64_t)(width * i);

        if (end_ns > start_ns)
            rc = add_bucket(way, start_ns, end_ns, err);
        start_ns = end_ns;
    }
    return rc;
}

static int read_process(struct times *times, struct sqlite3_stmt *row, struct error *err)
{
    const struct time_rows_request *request = times->request;
    size_t id = (size_t)database_id(row, 0, times->n_processes);
    int64_t start_ns = sqlite3_column_int64(row, 1);
    int64_t end_ns = sqlite3_column_int64(row, 2);

    start_ns = request->from_ns > start_ns ? request->from_ns : start_ns;
    end_ns = request->to_ns < end_ns ? request->to_ns : end_ns;
    return id && start_ns < end_ns ? divide(&times->ways[id], start_ns, end_ns, err) : 0;
}

static int read_bucket(struct times *times, struct sqlite3_stmt *row, struct error *err)
{
    size_t id = (size_t)database_id(row, 0, times->n_processes);

    return id ? add_bucket(&times->ways[id], sqlite3_column_int64(row, 1),
                           sqlite3_column_int64(row, 2), err)
              : 0;
}

static int read_buckets(struct times *times, const struct rundb *database, struct error *err)
{
    bool has_range = times->request->has_range;
    struct sqlite3_stmt *stmt;
    int rc = rundb_prepare(database,
                           has_range ? "SELECT process_id, start_ns, end_ns FROM processes"
                                     : "SELECT process_id, start_ns, end_ns FROM main.timeline"
                                       " ORDER BY process_id, bucket",
                           &stmt, err);

    while (rc == 0 && (rc = rundb_step(database, stmt, err)) == 1)
        rc = has_range ? read_process(times, stmt, err) : read_bucket(times, stmt, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- time ---- */

static void hold(const struct way *way, struct bucket *bucket)
{
    bucket->live_bytes = way->live_bytes;
    bucket->live_blocks = way->live_blocks;
    bucket->leaked_bytes = way->leaked_bytes;
    bucket->leaked_blocks = way->leaked_blocks;
    bucket->live_variance = way->live_variance;
    bucket->leaked_variance = way->leaked_variance;
    if (way->live_bytes > bucket->peak_bytes) {
        bucket->peak_bytes = way->live_bytes;
        bucket->peak_variance = way->live_variance;
    }
    if (way->live_bytes < bucket->low_bytes)
        bucket->low_bytes = way->live_bytes;
}

/* The current live bytes held until now. At the first time of a bucket the value at that time
 * counts. */
static void advance(struct way *way, int64_t now_ns)
{
    if (way->is_inside && now_ns <= way->at_ns)
        return;
    if (!way->is_inside) {
        if (way->n == 0 || now_ns < way->buckets[0].start_ns)
            return;
        way->is_inside = true;
        if (now_ns > way->buckets[0].start_ns)
            hold(way, &way->buckets[0]);
    } else if (way->current < way->n) {
        hold(way, &way->buckets[way->current]);
    }
    while (way->current + 1 < way->n && now_ns >= way->buckets[way->current + 1].start_ns) {
        way->current++;
        if (now_ns > way->buckets[way->current].start_ns)
            hold(way, &way->buckets[way->current]);
    }
    if (way->current + 1 == way->n && now_ns > way->buckets[way->current].end_ns)
        way->current = way->n;
    way->at_ns = now_ns;
}

/* Events of other threads may be slightly before the start of the process: they count at the
 * start. */
static int64_t not_before(const struct times *times, const struct way *way, int64_t at_ns)
{
    return !times->request->has_range && way->n && at_ns < way->buckets[0].start_ns
               ? way->buckets[0].start_ns
               : at_ns;
}

static struct bucket *bucket_now(struct way *way)
{
    return way->is_inside && way->current < way->n ? &way->buckets[way->current] : NULL;
}

static void end_until(struct times *times, int64_t at_ns)
{
    struct free_event free_event;

    while (expiry_heap_pop(&times->frees, at_ns, &free_event)) {
        struct way *way = &times->ways[free_event.of];
        struct bucket *bucket;

        advance(way, free_event.at_ns);
        saturating_grow(&way->live_bytes, -free_event.bytes);
        way->live_blocks -= free_event.blocks;
        way->live_variance -= free_event.variance;
        bucket = bucket_now(way);
        if (!bucket)
            continue;
        bucket->freed_blocks += free_event.blocks;
        saturating_grow(&bucket->freed_bytes, free_event.bytes);
        bucket->freed_variance += free_event.variance;
    }
}

static bool take_row(struct times *times, const struct scanned_row *row)
{
    struct way *way = &times->ways[row->process];
    int64_t allocated_ns = not_before(times, way, row->alloc_ns);
    struct bucket *bucket;

    end_until(times, allocated_ns);
    advance(way, allocated_ns);
    saturating_grow(&way->live_bytes, row->bytes);
    way->live_blocks += row->blocks;
    way->live_variance += row->bytes_variance;
    if (row->ended_by == ROW_FEED_LEAKED) {
        saturating_grow(&way->leaked_bytes, row->bytes);
        way->leaked_blocks += row->blocks;
        way->leaked_variance += row->bytes_variance;
    }
    bucket = bucket_now(way);
    if (bucket) {
        bucket->allocated_blocks += row->blocks;
        saturating_grow(&bucket->allocated_bytes, row->bytes);
        bucket->allocated_variance += row->bytes_variance;
    }
    return row->lifetime_ns == ROW_FEED_UNKNOWN
           || expiry_heap_push(&times->frees,
                               (struct free_event){saturating_add(allocated_ns, row->lifetime_ns),
                                                   row->blocks, row->bytes, row->process,
                                                   row->bytes_variance});
}

static bool take(void *context, const struct scanned_row *rows, size_t n)
{
    struct times *times = context;

    for (size_t i = 0; i < n; i++) {
        if (time_rows_counts(times->request->which, &rows[i]) && !take_row(times, &rows[i]))
            return false;
    }
    return true;
}

/* ---- the table ---- */

static const char table_sql[] = "CREATE TEMP TABLE timeline AS SELECT * FROM main.timeline WHERE 0";

enum {
    FIRST_MARGIN = 15,
    N_MARGINS = 5
};

static int put_bucket(const struct rundb *database, struct sqlite3_stmt *insert, size_t process,
                      size_t number, const struct bucket *bucket, bool is_sampled,
                      struct error *err)
{
    const double variances[N_MARGINS] = {bucket->live_variance, bucket->peak_variance,
                                         bucket->allocated_variance, bucket->freed_variance,
                                         bucket->leaked_variance};
    const int64_t values[] = {
        (int64_t)process,
        (int64_t)number,
        bucket->start_ns,
        bucket->end_ns,
        bucket->live_bytes,
        bucket->live_blocks,
        bucket->peak_bytes,
        bucket->low_bytes == INT64_MAX ? bucket->live_bytes : bucket->low_bytes,
        bucket->allocated_blocks,
        bucket->allocated_bytes,
        bucket->freed_blocks,
        bucket->freed_bytes,
        bucket->leaked_blocks,
        bucket->leaked_bytes};

    for (int i = 0; is_sampled && i < N_MARGINS; i++)
        sqlite3_bind_double(insert, FIRST_MARGIN + i, sample_weight_margin(variances[i]));
    return rundb_insert(database, insert, values, sizeof(values) / sizeof(values[0]), err);
}

static int put_table(struct times *times, struct rundb *database, struct error *err)
{
    struct sqlite3_stmt *insert = NULL;
    int rc = rundb_run(database, table_sql, err);

    if (rc == 0)
        rc = rundb_prepare(
            database,
            "INSERT INTO temp.timeline VALUES"
            " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            &insert, err);
    for (size_t id = 1; rc == 0 && id < times->n_processes; id++) {
        sqlite3_clear_bindings(insert); /* those of another process */
        for (size_t i = 0; rc == 0 && i < times->ways[id].n; i++)
            rc = put_bucket(database, insert, id, i, &times->ways[id].buckets[i],
                            times->mean_of[id] != 0, err);
    }
    sqlite3_finalize(insert);
    return rc;
}

/* Advance past the end of each range, so that its last time counts. */
static void finish(struct times *times)
{
    end_until(times, INT64_MAX);
    for (size_t id = 1; id < times->n_processes; id++) {
        struct way *way = &times->ways[id];

        if (way->n > 0)
            advance(way, saturating_add(way->buckets[way->n - 1].end_ns, 1));
    }
}

/* Nothing is live at the beginning of a process. */
static void begin(struct times *times)
{
    for (size_t id = 1; !times->request->has_range && id < times->n_processes; id++) {
        struct way *way = &times->ways[id];

        if (way->n > 0) {
            hold(way, &way->buckets[0]);
            way->is_inside = true;
            way->at_ns = way->buckets[0].start_ns;
        }
    }
}

int time_rows_fill(struct rundb *database, const struct time_rows_request *request,
                   struct error *err)
{
    struct times times = {.request = request};
    struct row_feed scan;
    int rc = row_feed_init(&scan, database, err);

    if (rc == 0) {
        times.n_processes = scan.n_processes;
        times.mean_of = scan.mean_of;
        times.ways = calloc(scan.n_processes, sizeof(*times.ways));
        rc = times.ways
                 ? 0
                 : error_set(err, ERROR_NOMEM, "no memory for %zu processes", scan.n_processes);
    }
    if (rc == 0)
        rc = read_buckets(&times, database, err);
    scan.without = time_rows_without(request->which);
    if (rc == 0) {
        begin(&times);
        rc = row_feed_run(&scan, request->filter, take, &times, err);
    }
    if (rc == 0) {
        finish(&times);
        rc = put_table(&times, database, err);
    }
    for (size_t id = 0; times.ways && id < times.n_processes; id++)
        free(times.ways[id].buckets);
    free(times.ways);
    expiry_heap_done(&times.frees);
    row_feed_done(&scan);
    return rc;
}
