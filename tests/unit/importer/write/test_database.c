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

/* A database that another process made while this one was written stays. */
TEST_WITH(keeps_what_came_in_between, set_up, tear_down)
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
