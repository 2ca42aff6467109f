/* SPDX-License-Identifier: MIT */
/*
 * Lines of name=value as filters: each is taken or refused with one line, and what was taken is a
 * statement that SQLite accepts and can run, over rows and over totals.
 */
#include "lib/base/error.h"
#include "lib/sqlite/embedded_sql.h"
#include "queries/db/rundb.h"
#include "queries/filter/filter.h"
#include "queries/filter/filter_sql.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct embedded_sql embedded_schema[];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rows_sql[] =
    "INSERT INTO processes(process_id, pid, start_ns, end_ns, peak_ns, end_kind)"
    " VALUES (1, 7, 0, 1000000000, 500000000, 'exit'), (2, 8, 10, 900000000, 20, 'exec');"
    "INSERT INTO threads(thread_id, process_id, tid, name) VALUES (1, 1, 7, 'main'), (2, 2, 8, NULL);"
    "INSERT INTO objects(object_id, path) VALUES (1, '/bin/program');"
    "INSERT INTO functions VALUES (1, 'main', 'main'), (2, 'f<int>', '_Z1fIiE');"
    "INSERT INTO sources VALUES (1, 'main.c');"
    "INSERT INTO frames VALUES (1, 1, 16, 0), (2, 1, 32, 0);"
    "INSERT INTO frame_lines VALUES (1, 0, 1, 1, 3, NULL), (2, 0, 2, NULL, NULL, NULL);"
    "INSERT INTO backtraces VALUES (1, NULL, 2, 1, 1, NULL, 'complete'), (2, 1, 2, 2, 2, NULL, 'complete');"
    "INSERT INTO packed_allocation_rows VALUES (5, 10, 4096, 100, 12, 1, 2, 0, -16777208, 1),"
    " (9, NULL, 8192, 4000, NULL, 2, NULL, NULL, -16776945, 2);"
    "INSERT INTO row_ranges VALUES (5, 9, 100, 4000, 4096, 8192, 12, 1);"
    "INSERT INTO kinds VALUES (1, 'malloc'), (2, 'calloc');"
    "INSERT INTO markers VALUES (1, 1, 1, 3, 'loaded');";

static void require(bool is_good, const char *what, const struct error *err)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static const struct rundb *get_database(void)
{
    static struct rundb database;
    struct error err = {0};

    if (database.handle)
        return &database;
    require(rundb_open_memory(&database, &err) == 0, "open", &err);
    for (const struct embedded_sql *part = embedded_schema; part->name; part++)
        require(rundb_run(&database, part->text, &err) == 0, part->name, &err);
    require(rundb_run(&database, rows_sql, &err) == 0, "rows", &err);
    return &database;
}

static bool is_one_line(const char *text)
{
    return *text && !strchr(text, '\n');
}

/* Refusals are for the user; a statement that does not compile or run is a bug of mtrace. */
static void run_statement(const struct rundb *database, const struct filter_sql *filter, char *sql)
{
    struct sqlite3_stmt *stmt = NULL;
    struct error err = {0};
    int rc = 1;

    require(sql != NULL, "no statement", &err);
    require(rundb_prepare(database, sql, &stmt, &err) == 0, sql, &err);
    filter_sql_bind(filter, stmt);
    while (rc == 1)
        rc = rundb_step(database, stmt, &err);
    require(rc == 0, sql, &err);
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
}

static void run_filter(const struct filter *filter, int64_t process_id)
{
    const struct rundb *database = get_database();
    struct filter_sql sql;
    struct error err = {0};
    int rc = filter_sql_init(&sql, database, filter, process_id, 0, &err);

    require(rc == 0 || (rc == ERROR_USAGE && is_one_line(err.text)), "compile", &err);
    if (rc == 0) {
        run_statement(database, &sql, filter_sql_rows(&sql, "a.allocation_id", 0, ""));
        if (filter_scope_of(filter) != FILTER_SCOPE_ROW)
            run_statement(database, &sql, filter_sql_totals(&sql, "g.backtrace_id"));
    }
    filter_sql_done(&sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct filter filter = {.n_values = 0};
    struct error err = {0};
    char *rest = text;

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *equals = strchr(line, '=');
        const struct filter_parameter *parameter =
            equals ? filter_find(line, (size_t)(equals - line)) : NULL;
        if (parameter && filter_add(&filter, parameter, equals + 1, &err) != 0)
            require(err.code == ERROR_USAGE && *err.text, "refusal", &err);
    }
    run_filter(&filter, 0);
    run_filter(&filter, 1);
    free(text);
    return 0;
}
