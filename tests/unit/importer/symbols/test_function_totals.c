/* SPDX-License-Identifier: MIT */
/* Recursion and inlining count once; self goes to the call site. */
#include "importer/symbols/function_totals.h"
#include "importer/write/database.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* main (1) calls itself (2), which calls work (3); helper is inlined into work. Stack 4 is main
 * calling helper itself, with a call site of its own. */
static const char code[] =
    "INSERT INTO processes (process_id, pid, start_ns, end_ns) VALUES (1, 1, 0, 9);"
    "INSERT INTO functions VALUES (1, 'main', 'main'), (2, 'work', 'work'), (3, 'helper', 'helper');"
    "INSERT INTO frames VALUES (1, NULL, 1, 0), (2, NULL, 2, 0), (3, NULL, 3, 0), (4, NULL, 4, 0);"
    "INSERT INTO frame_lines (frame_id, inline_level, function_id) VALUES (1, 0, 1), (2, 0, 1),"
    " (3, 0, 3), (3, 1, 2), (4, 0, 3);"
    "INSERT INTO call_sites (call_site_id, function_id) VALUES (1, 1), (2, 3), (3, 3);"
    "INSERT INTO backtraces VALUES (1, NULL, 4, 1, 1, 1, 'complete'), (2, 1, 3, 2, 2, 1,"
    " 'complete'), (3, 2, 3, 3, 3, 2, 'complete'), (4, 1, 4, 4, 2, 3, 'complete');";

/* Stack n has n blocks of 10 bytes, of which one is leaked; 5 bytes at the peak; n temporary. */
static const char totals[] =
    "INSERT INTO backtrace_totals SELECT 1, backtrace_id, backtrace_id, backtrace_id * 10, 0, 0, 1,"
    " 10, 0, 0, backtrace_id, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
    " NULL, NULL, NULL, NULL, NULL, NULL FROM backtraces;";

/* The same stacks of samples: the margins of stack n are n, 2 n, 3 n and 4 n. */
static const char samples[] =
    "INSERT INTO processes (process_id, pid, start_ns, end_ns, sample_bytes) VALUES (2, 2, 0, 9, 64);"
    "INSERT INTO backtrace_totals SELECT 2, backtrace_id, backtrace_id, backtrace_id * 10, 0, 0, 1,"
    " 10, 0, 0, backtrace_id, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, backtrace_id,"
    " backtrace_id * 2, 0, backtrace_id * 3, 0, backtrace_id * 4 FROM backtraces;";

static const char *ask(sqlite3 *db, const char *sql)
{
    static char text[256];
    sqlite3_stmt *statement;

    assert_int_equal(database_prepare(db, sql, &statement, NULL), 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return text;
}

/* The code, and the totals of its stacks. */
static int open_database(void **state)
{
    struct database *database;
    char target[64];

    snprintf(target, sizeof target, "test_function_totals_%ld.db", (long)getpid());
    assert_int_equal(database_create(target, true, 0, NULL, &database, NULL), 0);
    assert_int_equal(database_execute(database_sqlite(database), code, NULL), 0);
    assert_int_equal(database_execute(database_sqlite(database), totals, NULL), 0);
    *state = database;
    return 0;
}

static int close_database(void **state)
{
    database_close(*state);
    return 0;
}

TEST_WITH(by_hand, open_database, close_database)
{
    sqlite3 *db = database_sqlite(*state);

    for (int again = 0; again < 2; again++) { /* FT-1 */
        assert_int_equal(function_totals_write(db, NULL), 0);
        assert_string_equal(
            ask(db,
                "SELECT group_concat(function_id || ':' || self_allocated_blocks || ',' ||"
                " self_allocated_bytes || ',' || self_leaked_bytes || ',' || self_peak_bytes ||"
                " ',' || self_temporary_blocks, ' ') FROM function_totals ORDER BY function_id"),
            "1:3,30,20,10,3 2:0,0,0,0,0 3:7,70,20,10,7");
        assert_string_equal(
            ask(db,
                "SELECT group_concat(function_id || ':' || total_allocated_blocks || ',' ||"
                " total_allocated_bytes || ',' || total_leaked_bytes || ',' || total_peak_bytes ||"
                " ',' || total_temporary_blocks, ' ') FROM function_totals ORDER BY function_id"),
            "1:10,100,40,20,10 2:3,30,10,5,3 3:7,70,20,10,7");
    }
}

/* FT-3: main has all stacks, and those below its second call once. */
TEST_WITH(margins, open_database, close_database)
{
    sqlite3 *db = database_sqlite(*state);

    assert_int_equal(database_execute(db, samples, NULL), 0);
    assert_int_equal(function_totals_write(db, NULL), 0);
    assert_string_equal(
        ask(db,
            "SELECT group_concat(function_id || ':' || round(pow(self_allocated_blocks_margin, 2)) ||"
            " ',' || round(pow(total_allocated_blocks_margin, 2)) || ',' ||"
            " round(pow(total_allocated_bytes_margin, 2)) || ',' ||"
            " round(pow(total_leaked_bytes_margin, 2)) || ',' || round(pow(total_peak_bytes_margin, 2)), ' ')"
            " FROM function_totals WHERE process_id = 2 ORDER BY function_id"),
        "1:5.0,30.0,120.0,270.0,480.0 2:0.0,9.0,36.0,81.0,144.0 3:25.0,25.0,100.0,225.0,400.0");
    assert_string_equal(ask(db, "SELECT count(*) || ' ' || count(self_allocated_blocks_margin) ||"
                                " ' ' || count(total_peak_bytes_margin) FROM function_totals"
                                " WHERE process_id = 1"),
                        "3 0 0");
}
