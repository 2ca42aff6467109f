/* SPDX-License-Identifier: MIT */
/* A database appears whole or not at all, and never replaces what it should not. */
#include "importer/write/database.h"
#include "tests/lib/unit.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char target[64];

static size_t n_files(void)
{
    char pattern[80];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s*", target);
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(target, sizeof target, "test_database_%ld.db", (long)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(target);
    return n_files() != 0;
}

static struct database *create(bool replace)
{
    struct database *database;
    struct error err;

    if (database_create(target, replace, 0, NULL, &database, &err) != 0)
        fail_msg("%s", err.text);
    return database;
}

static int64_t count(struct database *database)
{
    sqlite3_stmt *statement;

    assert_int_equal(
        database_prepare(database_sqlite(database), "SELECT count(*) FROM meta", &statement, NULL),
        0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return n;
}

static void put(struct database *database, const char *key)
{
    sqlite3_stmt *insert;

    assert_int_equal(database_prepare(database_sqlite(database), "INSERT INTO meta VALUES (?, ?)",
                                      &insert, NULL),
                     0);
    assert_int_equal(database_insert(insert, NULL, "tu", key, UINT64_C(1)), 0);
    sqlite3_finalize(insert);
}

TEST_WITH(nothing_without_commit, set_up, tear_down)
{
    struct database *database = create(false);

    put(database, "a");
    assert_int_not_equal(access(target, F_OK), 0);
    database_close(database);
    assert_int_equal(n_files(), 0);
}

TEST_WITH(whole_with_commit, set_up, tear_down)
{
    struct database *database = create(false);

    put(database, "a");
    assert_int_equal(database_commit(database, NULL), 0);
    database_close(database);
    assert_int_equal(n_files(), 1);
    assert_int_equal(database_open(target, &database, NULL), 0);
    assert_int_equal(count(database), 1);
    put(database, "b");
    database_close(database); /* rolls back */
    assert_int_equal(database_open(target, &database, NULL), 0);
    assert_int_equal(count(database), 1);
    database_close(database);
}

/* All that is in the schema, how large pages are and whose file it is. */
static char *describe(const char *sql_of_tables)
{
    struct database *database;
    sqlite3_stmt *statement;

    assert_int_equal(database_open(target, &database, NULL), 0);
    assert_int_equal(database_prepare(database_sqlite(database), sql_of_tables, &statement, NULL),
                     0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    char *text = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    database_close(database);
    return text;
}

static char *describe_new(const struct database_blank *blank)
{
    static const char sql[] =
        "SELECT (SELECT group_concat(type || name || coalesce(sql, ''), char(10))"
        " FROM (SELECT * FROM sqlite_master ORDER BY rowid))"
        " || (SELECT page_size FROM pragma_page_size) || ' ' || (SELECT application_id FROM"
        " pragma_application_id) || ' ' || (SELECT user_version FROM pragma_user_version)"
        " || (SELECT group_concat(key || value) FROM meta)"
        " || (SELECT integrity_check FROM pragma_integrity_check)";
    struct database *database;

    assert_int_equal(database_create(target, true, 0, blank, &database, NULL), 0);
    put(database, "a");
    assert_int_equal(database_commit(database, NULL), 0);
    database_close(database);
    return describe(sql);
}

TEST_WITH(begins_as_blank, set_up, tear_down)
{
    struct database_blank blank = {.bytes = NULL};
    struct database *database;

    assert_int_equal(database_blank_make(&blank, NULL), 0);
    for (int i = 0; i < 2; i++) { /* what is written does not change it */
        char *made = describe_new(NULL);
        char *begun = describe_new(&blank);
        assert_non_null(strstr(made, "backtrace_totals"));
        assert_non_null(strstr(made, "CREATE VIEW"));
        assert_string_equal(made, begun);
        free(made);
        free(begun);
    }
    assert_int_equal(database_create(target, true, 1 << 30, &blank, &database, NULL), 0);
    put(database, "large"); /* has pages of its own size */
    assert_int_equal(database_commit(database, NULL), 0);
    database_close(database);
    char *page_bytes = describe("SELECT page_size FROM pragma_page_size");
    assert_string_equal(page_bytes, "16384");
    free(page_bytes);
    database_blank_done(&blank);
}

TEST_WITH(replaces_only_when_reported, set_up, tear_down)
{
    struct database *database;
    struct error err;

    database = create(false);
    put(database, "a");
    assert_int_equal(database_commit(database, NULL), 0);
    database_close(database);
    assert_int_equal(database_create(target, false, 0, NULL, &database, &err), ERROR_EXISTS);
    assert_non_null(strstr(err.text, "--force"));
    database_close(create(true)); /* given up: the old one stays */
    assert_int_equal(database_open(target, &database, NULL), 0);
    assert_int_equal(count(database), 1);
    database_close(database);
    database = create(true);
    assert_int_equal(database_commit(database, NULL), 0);
    database_close(database);
    assert_int_equal(database_open(target, &database, NULL), 0);
    assert_int_equal(count(database), 0);
    database_close(database);
}

/* A database that another process made while this one was written stays. */
TEST_WITH(keeps_what_came_meanwhile, set_up, tear_down)
{
    struct database *database = create(false);
    struct error err;
    char text[8] = "";
    FILE *file = fopen(target, "w");

    put(database, "a");
    assert_non_null(file);
    fputs("theirs", file);
    fclose(file);
    assert_int_equal(database_commit(database, &err), ERROR_EXISTS);
    assert_non_null(strstr(err.text, target));
    database_close(database);
    file = fopen(target, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "theirs");
    assert_int_equal(n_files(), 1);
}

TEST_WITH(refuses_what_is_not_ours, set_up, tear_down)
{
    struct database *database;
    struct error err;
    FILE *file = fopen(target, "w");

    assert_non_null(file);
    fputs("text, and no database at all", file);
    fclose(file);
    assert_int_not_equal(database_open(target, &database, &err), 0);
    assert_non_null(strstr(err.text, target));
    unlink(target);
    assert_int_not_equal(database_open(target, &database, &err), 0);
    assert_int_equal(database_create("no/such/folder/run.db", false, 0, NULL, &database, &err),
                     ERROR_IO);
}

TEST_WITH(kinds_of_values, set_up, tear_down)
{
    struct database *database = create(false);
    sqlite3 *db = database_sqlite(database);
    sqlite3_stmt *statement;

    assert_int_equal(database_execute(db, "CREATE TEMP TABLE t(a, b, c, d, e, f, g, h)", NULL), 0);
    assert_int_equal(
        database_prepare(db, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &statement, NULL), 0);
    assert_int_equal(database_insert(statement, NULL, "iuzmottn", (int64_t)-1, UINT64_C(2),
                                     UINT64_C(0), UINT64_MAX, (int64_t)-1, "text", NULL),
                     0);
    sqlite3_finalize(statement);
    assert_int_equal(database_prepare(db,
                                      "SELECT a = -1 AND b = 2 AND c IS NULL AND d IS NULL AND e IS"
                                      " NULL AND f = 'text' AND g IS NULL AND h IS NULL FROM t",
                                      &statement, NULL),
                     0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 1);
    sqlite3_finalize(statement);
    database_close(database);
}

TEST_WITH(space, set_up, tear_down)
{
    struct error err;

    assert_int_equal(database_check_space(target, 1, NULL), 0);
    assert_int_equal(database_check_space(target, UINT64_C(1) << 60, &err), ERROR_IO);
    assert_non_null(strstr(err.text, "--slim"));
}
