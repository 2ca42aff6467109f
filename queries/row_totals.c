/* SPDX-License-Identifier: MIT */
#include "queries/row_totals.h"

#include "queries/filter_sql.h"
#include "queries/rundb.h"
#include "support/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENDED_BY_NOTHING = 0,
    ENDED_BY_FREE = 1,
    ENDED_BY_EXEC = 4,
    TEMPORARY_INTERVENING = 1 /* of the word "temporary" */
};

/* Which sum a row belongs to; free_backtrace is 0 in sums by birth. */
struct key {
    uint32_t process;
    uint32_t backtrace;
    uint32_t free_backtrace;
};

struct sum {
    struct key key;
    int64_t allocated_blocks, allocated_bytes;
    int64_t freed_blocks, freed_bytes;
    int64_t leaked_blocks, leaked_bytes;
    int64_t leaked_first_ns, leaked_last_ns;
    int64_t temporary_blocks, temporary_bytes;
    int64_t peak_blocks, peak_bytes;
    int64_t first_ns, last_ns;
    int64_t min_size_bytes, max_size_bytes;
    int64_t slack_bytes, lifetime_sum_ns;
};

/* An open-addressing table of sums; slots hold index + 1. */
struct sums {
    struct sum *list;
    size_t n, capacity;
    uint32_t *slots;
    size_t mask;
};

/* What a thread's rows need to know of its process. */
struct thread {
    uint32_t process;
    int64_t peak_ns;
};

struct scan {
    struct rundb *database;
    struct sums births;
    struct sums frees;
    struct thread *threads; /* by thread_id */
    size_t n_threads;
};

static size_t hash(const struct key *key)
{
    uint64_t h = key->backtrace * UINT64_C(0x9e3779b97f4a7c15);

    h ^= (key->free_backtrace + UINT64_C(1)) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h ^= key->process * UINT64_C(0x165667b19e3779f9);
    return (size_t)(h ^ (h >> 29));
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->backtrace == b->backtrace && a->free_backtrace == b->free_backtrace
           && a->process == b->process;
}

static bool grow_slots(struct sums *sums)
{
    size_t n_slots = sums->slots ? 2 * (sums->mask + 1) : 1024;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < sums->n; i++) {
        size_t at = hash(&sums->list[i].key) & (n_slots - 1);
        while (slots[at])
            at = (at + 1) & (n_slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(sums->slots);
    sums->slots = slots;
    sums->mask = n_slots - 1;
    return true;
}

static struct sum *add_sum(struct sums *sums, const struct key *key, size_t at)
{
    if (sums->n == sums->capacity) {
        size_t capacity = sums->capacity ? 2 * sums->capacity : 256;
        struct sum *list = reallocarray(sums->list, capacity, sizeof(*list));
        if (!list)
            return NULL;
        sums->list = list;
        sums->capacity = capacity;
    }
    sums->list[sums->n] = (struct sum){.key = *key,
                                       .leaked_first_ns = INT64_MAX,
                                       .first_ns = INT64_MAX,
                                       .min_size_bytes = INT64_MAX};
    sums->slots[at] = (uint32_t)++sums->n;
    return &sums->list[sums->n - 1];
}

/* The sum of a key, made when it is new; NULL: no memory. */
static struct sum *get_sum(struct sums *sums, const struct key *key)
{
    size_t at;

    if ((!sums->slots || 2 * sums->n > sums->mask) && !grow_slots(sums))
        return NULL;
    for (at = hash(key) & sums->mask; sums->slots[at]; at = (at + 1) & sums->mask) {
        struct sum *sum = &sums->list[sums->slots[at] - 1];
        if (is_same(&sum->key, key))
            return sum;
    }
    return add_sum(sums, key, at);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static const char scanned_columns[] =
    "a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by,"
    " a.slack_bytes, a.intervening_allocations, a.free_backtrace_id";

enum scanned_column {
    THREAD_ID,
    BACKTRACE_ID,
    SIZE_BYTES,
    ALLOC_NS,
    LIFETIME_NS,
    ENDED_BY,
    SLACK_BYTES,
    INTERVENING,
    FREE_BACKTRACE_ID,
};

static bool is_known(struct sqlite3_stmt *row, enum scanned_column column)
{
    return sqlite3_column_type(row, (int)column) != SQLITE_NULL;
}

static void add_birth(struct sum *sum, struct sqlite3_stmt *row, int64_t peak_ns)
{
    int64_t size = sqlite3_column_int64(row, SIZE_BYTES);
    int64_t alloc_ns = sqlite3_column_int64(row, ALLOC_NS);
    int64_t lifetime_ns = sqlite3_column_int64(row, LIFETIME_NS);

    sum->allocated_blocks++;
    sum->allocated_bytes += size;
    sum->slack_bytes += sqlite3_column_int64(row, SLACK_BYTES);
    sum->first_ns = smaller(sum->first_ns, alloc_ns);
    sum->last_ns = larger(sum->last_ns, alloc_ns);
    sum->min_size_bytes = smaller(sum->min_size_bytes, size);
    sum->max_size_bytes = larger(sum->max_size_bytes, size);
    if (alloc_ns <= peak_ns && (!is_known(row, LIFETIME_NS) || alloc_ns + lifetime_ns > peak_ns)) {
        sum->peak_blocks++;
        sum->peak_bytes += size;
    }
}

static void add_end(struct sum *sum, struct sqlite3_stmt *row)
{
    int64_t size = sqlite3_column_int64(row, SIZE_BYTES);
    int64_t alloc_ns = sqlite3_column_int64(row, ALLOC_NS);
    int ended_by = sqlite3_column_int(row, ENDED_BY);

    if (ended_by == ENDED_BY_NOTHING) {
        sum->leaked_blocks++;
        sum->leaked_bytes += size;
        sum->leaked_first_ns = smaller(sum->leaked_first_ns, alloc_ns);
        sum->leaked_last_ns = larger(sum->leaked_last_ns, alloc_ns);
    } else if (ended_by != ENDED_BY_EXEC) {
        sum->freed_blocks++;
        sum->freed_bytes += size;
        sum->lifetime_sum_ns += sqlite3_column_int64(row, LIFETIME_NS);
    }
    if (is_known(row, INTERVENING)
        && sqlite3_column_int64(row, INTERVENING) <= TEMPORARY_INTERVENING) {
        sum->temporary_blocks++;
        sum->temporary_bytes += size;
    }
}

static bool add_row(struct scan *scan, struct sqlite3_stmt *row)
{
    size_t thread = (size_t)sqlite3_column_int64(row, THREAD_ID);
    const struct thread *of = thread < scan->n_threads ? &scan->threads[thread] : &scan->threads[0];
    struct key key = {of->process, (uint32_t)sqlite3_column_int64(row, BACKTRACE_ID), 0};
    struct sum *sum = get_sum(&scan->births, &key);

    if (!sum)
        return false;
    add_birth(sum, row, of->peak_ns);
    add_end(sum, row);
    if (sqlite3_column_int(row, ENDED_BY) != ENDED_BY_FREE || !is_known(row, FREE_BACKTRACE_ID))
        return true;
    key.free_backtrace = (uint32_t)sqlite3_column_int64(row, FREE_BACKTRACE_ID);
    sum = get_sum(&scan->frees, &key);
    if (!sum)
        return false;
    sum->freed_blocks++;
    sum->freed_bytes += sqlite3_column_int64(row, SIZE_BYTES);
    return true;
}

/* Thread 0 stands for rows without one: they belong to the first process. */
static int read_threads(struct scan *scan, struct error *err)
{
    struct sqlite3_stmt *stmt;
    int64_t max = 0;
    int rc = rundb_get_int64(scan->database, "SELECT max(thread_id) FROM threads", &max, err);

    if (rc != 0)
        return rc;
    scan->n_threads = (size_t)max + 1;
    scan->threads = calloc(scan->n_threads, sizeof(*scan->threads));
    if (!scan->threads)
        return error_set(err, ERROR_NOMEM, "no memory for %zu threads", scan->n_threads);
    rc = rundb_prepare(scan->database,
                       "SELECT t.thread_id, p.process_id, ifnull(p.peak_ns, -1) FROM threads AS t"
                       " JOIN processes AS p ON p.process_id = t.process_id"
                       " UNION ALL SELECT 0, min(process_id), ifnull(peak_ns, -1) FROM processes",
                       &stmt, err);
    while (rc == 0 && (rc = rundb_step(scan->database, stmt, err)) == 1) {
        struct thread *thread = &scan->threads[sqlite3_column_int64(stmt, 0)];
        thread->process = (uint32_t)sqlite3_column_int64(stmt, 1);
        thread->peak_ns = sqlite3_column_int64(stmt, 2);
        rc = 0;
    }
    sqlite3_finalize(stmt);
    return rc;
}

char *row_totals_sql(const struct filter_sql *filter)
{
    return filter_sql_rows(filter, scanned_columns, 0, "");
}

static int scan_rows(struct scan *scan, const struct filter_sql *filter, struct error *err)
{
    struct sqlite3_stmt *stmt = NULL;
    char *sql = row_totals_sql(filter);
    int rc = sql ? rundb_prepare(scan->database, sql, &stmt, err)
                 : error_set(err, ERROR_NOMEM, "no memory");

    sqlite3_free(sql);
    if (rc != 0)
        return rc;
    filter_sql_bind(filter, stmt);
    while ((rc = rundb_step(scan->database, stmt, err)) == 1) {
        if (!add_row(scan, stmt)) {
            rc = error_set(err, ERROR_NOMEM, "no memory for the totals of %zu stacks",
                           scan->births.n);
            break;
        }
    }
    sqlite3_finalize(stmt);
    return rc;
}

static int put_births(struct scan *scan, struct sqlite3_stmt *insert, struct error *err)
{
    for (size_t i = 0; i < scan->births.n; i++) {
        const struct sum *s = &scan->births.list[i];
        const int64_t values[] = {
            s->key.process,     s->key.backtrace,  s->allocated_blocks, s->allocated_bytes,
            s->freed_blocks,    s->freed_bytes,    s->leaked_blocks,    s->leaked_bytes,
            s->leaked_first_ns, s->leaked_last_ns, s->temporary_blocks, s->temporary_bytes,
            s->peak_blocks,     s->peak_bytes,     s->first_ns,         s->last_ns,
            s->min_size_bytes,  s->max_size_bytes, s->slack_bytes,      s->lifetime_sum_ns};

        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
            sqlite3_bind_int64(insert, (int)v + 1, values[v]);
        if (s->leaked_blocks == 0) {
            sqlite3_bind_null(insert, 9);
            sqlite3_bind_null(insert, 10);
        }
        int rc = rundb_step(scan->database, insert, err);
        if (rc != 0)
            return rc;
        sqlite3_reset(insert);
    }
    return 0;
}

static int put_frees(struct scan *scan, struct sqlite3_stmt *insert, struct error *err)
{
    for (size_t i = 0; i < scan->frees.n; i++) {
        const struct sum *s = &scan->frees.list[i];

        sqlite3_bind_int64(insert, 1, s->key.process);
        sqlite3_bind_int64(insert, 2, s->key.backtrace);
        sqlite3_bind_int64(insert, 3, s->key.free_backtrace);
        sqlite3_bind_int64(insert, 4, s->freed_blocks);
        sqlite3_bind_int64(insert, 5, s->freed_bytes);
        int rc = rundb_step(scan->database, insert, err);
        if (rc != 0)
            return rc;
        sqlite3_reset(insert);
    }
    return 0;
}

static int put(struct scan *scan, const char *sql,
               int (*what)(struct scan *, struct sqlite3_stmt *, struct error *), struct error *err)
{
    struct sqlite3_stmt *insert;
    int rc = rundb_prepare(scan->database, sql, &insert, err);

    if (rc == 0)
        rc = what(scan, insert, err);
    sqlite3_finalize(insert);
    return rc;
}

int row_totals_fill(struct rundb *database, const struct filter_sql *filter, struct error *err)
{
    struct scan scan = {.database = database};
    int rc = read_threads(&scan, err);

    if (rc == 0)
        rc = scan_rows(&scan, filter, err);
    if (rc == 0)
        rc = put(
            &scan,
            "INSERT INTO temp.backtrace_totals(process_id, backtrace_id, allocated_blocks, allocated_bytes,"
            " freed_blocks, freed_bytes, leaked_blocks, leaked_bytes, leaked_first_ns, leaked_last_ns,"
            " temporary_blocks, temporary_bytes, peak_blocks, peak_bytes, first_ns, last_ns, min_size_bytes,"
            " max_size_bytes, slack_bytes, lifetime_sum_ns, culled_blocks, culled_bytes)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,"
            " 0, 0)",
            put_births, err);
    if (rc == 0)
        rc = put(&scan, "INSERT INTO temp.free_sites VALUES (?1, ?2, ?3, ?4, ?5)", put_frees, err);
    free(scan.births.list);
    free(scan.births.slots);
    free(scan.frees.list);
    free(scan.frees.slots);
    free(scan.threads);
    return rc;
}
