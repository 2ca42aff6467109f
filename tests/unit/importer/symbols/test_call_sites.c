/* SPDX-License-Identifier: MIT */
/* The call sites of a stack tree that fits on a page, worked out by hand. */
#include "importer/symbols/call_sites.h"
#include "lib/sqlite/embedded_sql.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

/*
 * Objects: 1 the program, 2 libc. Stacks, callers first:
 *   1 main                              site main:10
 *   2   make_list                       site make_list:20
 *   3     push_back inlined in swell    site swell:31 (level 1)
 *   4       malloc of libc              site swell:31, inherited through a skipped frame
 *   5   malloc of libc                  site main:10
 *   6 start_thread of libc              skipped to the root: its own innermost position
 *   7   malloc of libc                  the same: its own, CS-1
 *   8   worker                          site worker:40
 *   9     std::string maker<...>()      not std::, only returns one
 */
static const char rows[] =
    "INSERT INTO objects(object_id, path) VALUES (1, '/opt/app/program'),"
    " (2, '/lib/x86_64-linux-gnu/libc.so.6');"
    "INSERT INTO functions VALUES (1, 'main', 'main'), (2, 'make_list()', '_Z9make_listv'),"
    " (3, 'std::vector<int, std::allocator<int> >::push_back(int const&)',"
    "  '_ZNSt6vectorIiSaIiEE9push_backERKi'), (4, 'swell()', '_Z5swellv'),"
    " (5, 'malloc', '__libc_malloc'), (6, 'start_thread', 'start_thread'),"
    " (7, 'worker', 'worker'), (8, 'std::string maker<int>()', '_Z5makerIiESsv');"
    "INSERT INTO sources VALUES (1, '/src/main.cc'), (2, '/usr/include/c++/12/bits/stl_vector.h');"
    "INSERT INTO frames VALUES (1, 1, 16, 0), (2, 1, 32, 0), (3, 1, 48, 0), (4, 2, 16, 0),"
    " (5, 2, 32, 0), (6, 1, 64, 0), (7, 1, 80, 0);"
    "INSERT INTO frame_lines VALUES (1, 0, 1, 1, 10, 3), (2, 0, 2, 1, 20, NULL),"
    " (3, 0, 3, 2, 900, NULL), (3, 1, 4, 1, 31, NULL), (4, 0, 5, NULL, NULL, NULL),"
    " (5, 0, 6, NULL, NULL, NULL), (6, 0, 7, 1, 40, NULL), (7, 0, 8, 1, 50, NULL);"
    "INSERT INTO backtraces(backtrace_id, parent_backtrace_id, last_descendant_id, frame_id, depth,"
    " status) VALUES (1, NULL, 5, 1, 1, 'complete'), (2, 1, 4, 2, 2, 'complete'),"
    " (3, 2, 4, 3, 3, 'complete'), (4, 3, 4, 4, 4, 'complete'), (5, 1, 5, 4, 2, 'complete'),"
    " (6, NULL, 9, 5, 1, 'complete'), (7, 6, 7, 4, 2, 'complete'), (8, 6, 9, 6, 2, 'complete'),"
    " (9, 8, 9, 7, 3, 'complete');";

static void execute(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int open_tree(void **state)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (const struct embedded_sql *file = embedded_schema; file->name; file++)
        execute(db, file->text);
    execute(db, rows);
    *state = db;
    return 0;
}

static int close_tree(void **state)
{
    return sqlite3_close(*state);
}

/* "backtrace_id function line" per stack. */
static void assert_sites(sqlite3 *db, const char *expected)
{
    sqlite3_stmt *statement;
    const char *found;

    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT group_concat(backtrace_id || ' ' || f.raw_name || ' '"
                           " || ifnull(c.line, '-'), ', ') FROM backtraces"
                           " JOIN call_sites AS c USING (call_site_id)"
                           " LEFT JOIN functions AS f USING (function_id) ORDER BY 1",
                           -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    found = (const char *)sqlite3_column_text(statement, 0);
    assert_string_equal(found, expected);
    sqlite3_finalize(statement);
}

/* Is a function of that name, called by make_list, the call site of what it allocates? */
static bool is_blamed(sqlite3 *db, const char *name)
{
    struct error err;
    sqlite3_stmt *statement;
    bool is_found;

    assert_int_equal(sqlite3_prepare_v2(db,
                                        "UPDATE functions SET raw_name = ?1 WHERE function_id = 4",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    assert_int_equal(call_sites_write(db, NULL, NULL, &err), 0);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT c.function_id FROM backtraces"
                                        " JOIN call_sites AS c USING (call_site_id)"
                                        " WHERE backtrace_id = 4",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    is_found = sqlite3_column_int(statement, 0) == 4;
    sqlite3_finalize(statement);
    return is_found;
}

/* A function of the program that grows or reserves something may keep what it allocates. */
TEST_WITH(test_growers_of_programs_are_blamed, open_tree, close_tree)
{
    static const char *const names[] = {
        "grow",
        "list_grow",
        "forest_grow.constprop.0",
        "__forest_MOD_grow",
        "app__grow",
        "camlForest__grow_366",
        "_ZN6forest4growEi",
        "_ZN12_GLOBAL__N_14growEi",
        "_ZN3app4grow17h0123456789abcdefE",
        "_RNvCs1234_3app4grow",
        "_D3app4growFiZv",
        "main.grow",
        "reserve",
        "__hotel_MOD_reserve",
        "hotel__reserve",
        "_ZN5hotel7reserveEi",
        "_ZN12_GLOBAL__N_17reserveEi",
        "main._Cfunc_make_block",
        "main.(*Pool).grow",
        "caml_alloc_widget",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!is_blamed(*state, names[i]))
            fail_msg("%s is not blamed", names[i]);
}

/* Allocators and their wrappers, and what languages put between malloc and a program. */
TEST_WITH(test_wrappers_are_not_blamed, open_tree, close_tree)
{
    static const char *const names[] = {
        "my_malloc",
        "xmalloc_array",
        "xmallocz_gently",
        "xmemdupz",
        "xstrdup_or_null",
        "do_xmallocz",
        "_PyObject_GC_NewVar",
        "PyType_GenericAlloc",
        "dynamic_array_reserve",
        "_ZN6Buffer7reserveEm",
        "_ZN3app6Buffer7reserveEm",
        "strbuf_grow",
        "g_array_maybe_expand",
        "_ZN4llvm15SmallVectorBaseIjE8grow_podEPvmm",
        "caml_ba_alloc",
        "caml_ba_alloc_dims",
        "caml_alloc_custom_mem",
        "caml_stat_alloc",
        "caml_stat_resize_noexc",
        "_cgo_1faa5549d16c_Cfunc__Cmalloc",
        "main._Cfunc__CMalloc",
        "_Cfunc__Cmalloc",
        "x_cgo_thread_start",
        "__gnat_malloc",
        "system__memory__alloc",
        "_gfortrani_xmallocarray",
        "_d_newclass",
        "_D4core6memory2GC6mallocFNaNbmkxC8TypeInfoZPv",
        "__rust_alloc",
        "_RNvCshash_7___rustc12___rust_alloc",
        "_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE",
        "stgMallocBytes",
        "swift_slowAlloc",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_blamed(*state, names[i]))
            fail_msg("%s is blamed", names[i]);
}

/* A function without a name is a part of the wrapper of its library that calls it, unless that
 * leaves nothing to blame. */
TEST_WITH(test_nameless_in_wrapper, open_tree, close_tree)
{
    struct error err;

    execute(*state, "DELETE FROM frame_lines WHERE frame_id = 3 AND inline_level = 1;"
                    "UPDATE frame_lines SET function_id = 4 WHERE frame_id = 3;"
                    "UPDATE frame_lines SET source_id = NULL, line = NULL WHERE frame_id IN (3, 7);"
                    "UPDATE functions SET raw_name = 'program+0x30' WHERE function_id = 4;"
                    "UPDATE functions SET raw_name = 'program+0x50' WHERE function_id = 8;"
                    "UPDATE functions SET raw_name = 'my_malloc' WHERE function_id IN (2, 7)");
    assert_int_equal(call_sites_write(*state, NULL, NULL, &err), 0);
    assert_sites(*state, "1 main 10, 2 main 10, 3 main 10, 4 main 10, 5 main 10,"
                         " 6 start_thread -, 7 __libc_malloc -, 8 my_malloc 40, 9 program+0x50 -");
    execute(*state, "INSERT INTO objects(object_id, path) VALUES (3, '/opt/app/other.so');"
                    "UPDATE frames SET object_id = 3 WHERE frame_id = 3");
    assert_int_equal(call_sites_write(*state, NULL, NULL, &err), 0);
    assert_sites(*state, "1 main 10, 2 main 10, 3 program+0x30 -, 4 program+0x30 -, 5 main 10,"
                         " 6 start_thread -, 7 __libc_malloc -, 8 my_malloc 40, 9 program+0x50 -");
}

/* The raw name of the function of the call site of a stack. */
static void assert_site(sqlite3 *db, int backtrace_id, const char *expected)
{
    sqlite3_stmt *statement;
    struct error err;

    assert_int_equal(call_sites_write(db, NULL, NULL, &err), 0);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT f.raw_name FROM backtraces JOIN call_sites USING (call_site_id)"
                           " JOIN functions AS f USING (function_id) WHERE backtrace_id = ?",
                           -1, &statement, NULL),
        SQLITE_OK);
    sqlite3_bind_int(statement, 1, backtrace_id);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
    sqlite3_finalize(statement);
}

/* Stack 10 is main. It calls caller_1 (stack 11) to caller_8 (stack 81), and each calls the
 * wrappers program+0x1000 (stacks 12, 22, …) and program+0x1200 (stacks 13, 23, …). caller_1 alone
 * calls program+0x1100 (stack 14), which calls malloc. */
static const char stripped_rows[] =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 8)"
    " INSERT INTO functions SELECT 100 + i, 'caller_' || i, 'caller_' || i FROM n;"
    "INSERT INTO functions SELECT 120 + value, 'f', 'program+0x1' || value || '00'"
    " FROM json_each('[0, 1, 2]');"
    "INSERT INTO frames SELECT function_id, 1, 0x1000 + function_id, 0 FROM functions"
    " WHERE function_id > 100;"
    "INSERT INTO frame_lines SELECT function_id, 0, function_id, NULL, NULL, NULL FROM functions"
    " WHERE function_id > 100;"
    "INSERT INTO backtraces VALUES (10, NULL, 99, 1, 1, NULL, 'complete');"
    "INSERT INTO backtraces SELECT 10 * function_id - 999, 10, 10 * function_id - 990,"
    " function_id, 2, NULL, 'complete' FROM functions WHERE function_id BETWEEN 101 AND 108;"
    "INSERT INTO backtraces SELECT backtrace_id + 1, backtrace_id, backtrace_id + 1, 120, 3, NULL,"
    " 'complete' FROM backtraces WHERE parent_backtrace_id = 10;"
    "INSERT INTO backtraces SELECT backtrace_id + 2, backtrace_id, backtrace_id + 2, 122, 3, NULL,"
    " 'complete' FROM backtraces WHERE parent_backtrace_id = 10;"
    "INSERT INTO backtraces VALUES (14, 11, 15, 121, 3, NULL, 'complete'),"
    " (15, 14, 15, 4, 4, NULL, 'complete');";

/* Many functions call a wrapper, and it calls libc only. */
TEST_WITH(test_wrappers_without_a_name, open_tree, close_tree)
{
    execute(*state, stripped_rows);
    assert_site(*state, 12, "caller_1");
    assert_site(*state, 82, "caller_8");
    assert_site(*state, 13, "caller_1");
    assert_site(*state, 15, "caller_1");
    /* too far from each other for one source file */
    execute(*state, "UPDATE functions SET raw_name = 'program+0x4000' WHERE function_id = 122");
    assert_site(*state, 13, "caller_1");
    assert_site(*state, 15, "program+0x1100");
    /* a function with own work */
    execute(*state, "INSERT INTO backtraces VALUES (16, 13, 16, 108, 4, NULL, 'complete')");
    assert_site(*state, 13, "program+0x4000");
    assert_site(*state, 12, "caller_1");
    /* few callers */
    execute(*state, "DELETE FROM backtraces WHERE backtrace_id = 82");
    assert_site(*state, 12, "program+0x1000");
}

/* A function of a library's API is blamed only if a function of this library calls it. */
TEST_WITH(test_api_functions, open_tree, close_tree)
{
    execute(*state, "INSERT INTO objects(object_id, path) VALUES (3, '/usr/lib/libpython3.so');"
                    "INSERT INTO functions VALUES (20, 'f', 'PyList_New'),"
                    " (21, 'f', 'libpython3.so+0x50'), (22, 'f', '_PyEval_EvalFrameDefault');"
                    "INSERT INTO frames VALUES (20, 3, 16, 0), (21, 3, 80, 0), (22, 3, 160, 0);"
                    "INSERT INTO frame_lines VALUES (20, 0, 20, NULL, NULL, NULL),"
                    " (21, 0, 21, NULL, NULL, NULL), (22, 0, 22, NULL, NULL, NULL);"
                    "INSERT INTO backtraces VALUES (10, NULL, 16, 1, 1, NULL, 'complete'),"
                    " (11, 10, 13, 20, 2, NULL, 'complete'),"
                    " (12, 11, 12, 21, 3, NULL, 'complete'),"
                    " (13, 11, 13, 20, 3, NULL, 'complete'),"
                    " (14, 10, 16, 22, 2, NULL, 'complete'),"
                    " (15, 14, 16, 20, 3, NULL, 'complete'),"
                    " (16, 15, 16, 21, 4, NULL, 'complete')");
    assert_site(*state, 11, "main");
    assert_site(*state, 12, "main");
    assert_site(*state, 13, "main");
    assert_site(*state, 15, "PyList_New");
    assert_site(*state, 16, "libpython3.so+0x50");
}
