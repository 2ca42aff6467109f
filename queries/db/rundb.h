/* SPDX-License-Identifier: MIT */
/*
 * rundb: the database of a recording, opened read-only.
 *
 * The current views are TEMP views over the tables of the file, loaded when a statement names them.
 * The file is not trusted (database_guard.h): ids are checked, sums saturate, any text may be NULL.
 *
 * Invariants
 *   DB-1 After rundb_lock no statement can change the file, attach another one or create anything.
 *   DB-2 After a stop or the end of the time limit, every statement ends with ERROR_INTERRUPTED.
 *   DB-3 A loop over whole stacks calls rundb_go_on for each stack: all of them may take long.
 *
 * Threads: one at a time per database.
 * Errors: ERROR_IO no such file, or a directory; ERROR_FORMAT not a recording; ERROR_VERSION newer;
 * ERROR_DATABASE damaged or locked.
 */
#ifndef MTRACE_QUERIES_RUNDB_H
#define MTRACE_QUERIES_RUNDB_H

#include "lib/sqlite/database_guard.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct error;
struct database_views;

/* Tables that the importer fills from the view of the same name with a leading underscore. */
enum rundb_made {
    RUNDB_SITE_TOTALS = 1,
    RUNDB_SITE_LEAKS = 2,
    RUNDB_SITE_FREES = 4,
    RUNDB_SUPPRESSED_STACKS = 16,
    RUNDB_SNAPSHOT_SITES = 32,
    RUNDB_SITE_GROWTH = 64
    /* site_shapes comes with leaks and growth, for those of the two that are asked for */
};

struct rundb {
    struct sqlite3 *handle;
    const char *path;
    struct database_guard guard;
    bool is_slim; /* it has no rows of allocations */
    /* tables of the file that statements may not read; NULL: none (hidden_paths.h) */
    bool (*is_hidden)(const char *table);
    bool refuses_rows; /* reading tables of rows is refused */
    bool is_aggregate; /* slim except for the blocks live at the end: a bounded log (--aggregate) */
    bool is_early;     /* no rows yet: the log still grows */
    int64_t sample_bytes;         /* largest interval of all sampled processes; 0: none */
    const char *left_out;         /* rows that were requested but not imported, or NULL */
    bool reads_rows;              /* a statement after the lock reads tables of single blocks */
    unsigned made;                /* enum rundb_made: computed, not read from the file */
    struct database_views *views; /* NULL: the views of the file are used */
    bool is_locked;
};

/* path, stop (may be NULL) and the struct must live as long as the database is open. After a
 * failure the database need not be closed. */
int rundb_open(struct rundb *database, const char *path, const struct database_stop *stop,
               struct error *err);

/* An empty database in memory, for statements that need no recording. */
int rundb_open_memory(struct rundb *database, struct error *err);

void rundb_close(struct rundb *database);

/* Makes the embedded views available to statements. */
int rundb_offer_views(struct rundb *database, struct error *err);

/* Loads all views now, for a statement whose views only SQLite can find. */
int rundb_load_all_views(const struct rundb *database, struct error *err);

/* From here on the rows of these tables (enum rundb_made) are computed by their views, not read
 * from the file: a filter replaced the tables that the views read. */
int rundb_compute(struct rundb *database, unsigned tables, struct error *err);

/* From here on refuses statements that read rows of single blocks, which the database lacks. */
void rundb_refuse_rows(struct rundb *database);

/* Allows only reading from here on (DB-1). */
int rundb_lock(struct rundb *database, struct error *err);

int rundb_run(struct rundb *database, const char *sql, struct error *err);

/* Fails with ERROR_USAGE when the text is not exactly one statement. */
int rundb_prepare(const struct rundb *database, const char *sql, struct sqlite3_stmt **ret_stmt,
                  struct error *err);

/* Inserts a row of numbers. The INSERT has at least n_values parameters; others stay bound. */
int rundb_insert(const struct rundb *database, struct sqlite3_stmt *insert, const int64_t *values,
                 size_t n_values, struct error *err);

/* 0, or ERROR_INTERRUPTED after a stop or at the time limit (DB-3). database may be NULL. */
int rundb_go_on(const struct rundb *database, struct error *err);

/* The next row: 1, the end: 0, or an error. */
int rundb_step(const struct rundb *database, struct sqlite3_stmt *stmt, struct error *err);

/* The text of a column of the current row; "" for NULL and without memory, which the next step
 * reports. */
static inline const char *rundb_text(struct sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);

    return text ? (const char *)text : "";
}

/* The same with its length: the text may contain NULs. */
static inline const char *rundb_text_bytes(struct sqlite3_stmt *row, int column, size_t *ret_n)
{
    const unsigned char *text = sqlite3_column_text(row, column);

    *ret_n = text ? (size_t)sqlite3_column_bytes(row, column) : 0;
    return text ? (const char *)text : "";
}

/* Prints the statement with its literals. */
void rundb_show_sql(struct sqlite3_stmt *stmt, FILE *out);

/* Fills err with SQLite's message about the last failure. */
int rundb_error(const struct rundb *database, const char *doing, struct error *err);

/* The first column of the first row as a number; 0 when there is none or it is NULL. */
int rundb_get_int64(const struct rundb *database, const char *sql, int64_t *ret_value,
                    struct error *err);

#endif
