/* SPDX-License-Identifier: MIT */
/* The index compared with rows sorted by stock SQL, for ranges of one stack, of some and of all. */
#include "importer/write/database.h"
#include "importer/write/stack_index.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <unistd.h>

/* 40,000 rows of 300 stacks, a third of them of stack 7; stacks 100 to 120 have none. Stack 9 has 5
 * elided blocks more. */
static const char made[] =
    "INSERT INTO backtraces SELECT value, NULL, value, 1, 1, NULL, 'complete'"
    " FROM generate(300);"
    "INSERT INTO packed_allocation_rows (allocation_id, backtrace_id)"
    " SELECT value, iif(value % 3 = 0, 7, iif(value * 7919 % 300 BETWEEN 99 AND 119, 200,"
    " value * 7919 % 300 + 1)) FROM generate(40000);"
    "INSERT INTO backtrace_totals SELECT 1, backtrace_id, count(*) + 5 * (backtrace_id = 9), 0, 0, 0,"
    " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 * (backtrace_id = 9), 0,"
    " NULL, NULL, NULL, NULL, NULL, NULL"
    " FROM packed_allocation_rows GROUP BY backtrace_id;";

static const char numbers[] = "CREATE TEMP TABLE generated(value INTEGER PRIMARY KEY);"
                              "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1"
                              " FROM n WHERE value < 40000) INSERT INTO generated SELECT * FROM n;";

static int64_t ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;

    assert_int_equal(database_prepare(db, sql, &statement, NULL), 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void make_rows(sqlite3 *db)
{
    char sql[2048];
    size_t n = 0;

    /* generate(N) stands for the first N numbers */
    for (const char *at = made; *at;) {
        int length;
        int used = 0;
        if (sscanf(at, "generate(%d)%n", &length, &used) == 1 && used > 0) {
            n += (size_t)snprintf(sql + n, sizeof sql - n,
                                  "(SELECT value FROM generated WHERE value <= %d)", length);
            at += used;
        } else {
            sql[n++] = *at++;
        }
    }
    sql[n] = '\0';
    assert_int_equal(database_execute(db, numbers, NULL), 0);
    assert_int_equal(database_execute(db, sql, NULL), 0);
}

TEST(any_range)
{
    static const uint64_t ranges[] = {1, 100, 5000, STACK_INDEX_RANGE};
    struct database *database;
    char target[64];

    snprintf(target, sizeof target, "test_stack_index_%ld.db", (long)getpid());
    assert_int_equal(database_create(target, true, 0, NULL, &database, NULL), 0);
    sqlite3 *db = database_sqlite(database);
    make_rows(db);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct error err;
        if (stack_index_write(db, ranges[i], &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(ask(db, "SELECT count(*) FROM backtrace_allocations"), 40000);
        assert_int_equal(ask(db, "SELECT count(*) FROM (SELECT backtrace_id, allocation_id FROM"
                                 " backtrace_allocations EXCEPT SELECT backtrace_id,"
                                 " allocation_id FROM packed_allocation_rows)"),
                         0);
        assert_int_equal(database_execute(db, "DELETE FROM backtrace_allocations", NULL), 0);
    }
    database_close(database);
}
