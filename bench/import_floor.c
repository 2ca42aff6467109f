/* SPDX-License-Identifier: MIT */
/*
 * import_floor SOURCE.db TARGET.db: how fast bare SQLite takes the rows of a recording.
 *
 * Inserts the rows of packed_allocation_rows into a new table of the same definition by a prepared
 * INSERT of single rows, in one transaction, with the pragmas the importer uses. A million rows at
 * a time are read into memory before; prints rows, and the wall and CPU seconds of all but the
 * reading.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    N_COLUMNS = 10,
    CHUNK_ROWS = 1000000,
};

struct row {
    int64_t values[N_COLUMNS]; /* INT64_MIN: NULL */
};

struct seconds {
    double wall, cpu;
};

static double clock_s(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Adds with sign -1 before, and with sign 1 behind what is measured. */
static void add_now(struct seconds *seconds, int sign)
{
    seconds->wall += sign * clock_s(CLOCK_MONOTONIC);
    seconds->cpu += sign * clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

static void die(sqlite3 *db, const char *what)
{
    fprintf(stderr, "import_floor: %s: %s\n", what, sqlite3_errmsg(db));
    exit(EXIT_FAILURE);
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(db, sql);
}

static char *read_definition(sqlite3 *db)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(db,
                           "SELECT sql FROM sqlite_schema WHERE name = 'packed_allocation_rows'",
                           -1, &statement, NULL)
            != SQLITE_OK
        || sqlite3_step(statement) != SQLITE_ROW)
        die(db, "no table of allocations");
    char *definition = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return definition;
}

static size_t read_chunk(sqlite3_stmt *select, struct row *rows)
{
    size_t n = 0;

    for (; n < CHUNK_ROWS && sqlite3_step(select) == SQLITE_ROW; n++)
        for (int i = 0; i < N_COLUMNS; i++)
            rows[n].values[i] = sqlite3_column_type(select, i) == SQLITE_NULL
                                    ? INT64_MIN
                                    : sqlite3_column_int64(select, i);
    return n;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        die(db, sql);
    return statement;
}

static void insert_rows(sqlite3 *db, sqlite3_stmt *statement, const struct row *rows, size_t n)
{
    for (size_t row = 0; row < n; row++) {
        for (int i = 0; i < N_COLUMNS; i++) {
            if (rows[row].values[i] == INT64_MIN)
                sqlite3_bind_null(statement, i + 1);
            else
                sqlite3_bind_int64(statement, i + 1, rows[row].values[i]);
        }
        if (sqlite3_step(statement) != SQLITE_DONE)
            die(db, "inserting");
        sqlite3_reset(statement);
    }
}

/* Rows copied; what the copying but for the reading took goes into *seconds. */
static size_t copy(sqlite3 *source, sqlite3 *target, struct seconds *seconds)
{
    struct row *rows = malloc(CHUNK_ROWS * sizeof *rows);
    sqlite3_stmt *select = prepare(source, "SELECT * FROM packed_allocation_rows");
    sqlite3_stmt *insert =
        prepare(target, "INSERT INTO packed_allocation_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    size_t n = CHUNK_ROWS;
    size_t n_all = 0;

    if (!rows)
        abort();
    while (n == CHUNK_ROWS) { /* a statement that has ended would begin again */
        n = read_chunk(select, rows);
        add_now(seconds, -1);
        insert_rows(target, insert, rows, n);
        add_now(seconds, 1);
        n_all += n;
    }
    sqlite3_finalize(select);
    sqlite3_finalize(insert);
    free(rows);
    return n_all;
}

int main(int argc, char **argv)
{
    sqlite3 *source;
    sqlite3 *target;
    struct seconds seconds = {0};

    if (argc != 3) {
        fprintf(stderr, "usage: import_floor SOURCE.db TARGET.db\n");
        return 2;
    }
    if (sqlite3_open_v2(argv[1], &source, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        die(source, argv[1]);
    char *definition = read_definition(source);
    unlink(argv[2]);
    if (sqlite3_open(argv[2], &target) != SQLITE_OK)
        die(target, argv[2]);
    run(target, "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536");
    run(target, definition);
    run(target, "BEGIN");
    size_t n = copy(source, target, &seconds);
    add_now(&seconds, -1);
    run(target, "COMMIT");
    add_now(&seconds, 1);
    printf("%zu %.6f %.6f\n", n, seconds.wall, seconds.cpu);
    sqlite3_close(source);
    sqlite3_close(target);
    free(definition);
    return EXIT_SUCCESS;
}
