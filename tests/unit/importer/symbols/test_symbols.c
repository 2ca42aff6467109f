/* SPDX-License-Identifier: MIT */
/* Frames of this very program, symbolized into a database. */
#include "importer/symbols/symbol_cache.h"
#include "importer/symbols/symbols.h"
#include "lib/sqlite/embedded_sql.h"
#include "tests/lib/unit.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

static int inlined_line;

static inline __attribute__((always_inline)) uintptr_t inlined(void)
{
    uintptr_t here;

    inlined_line = __LINE__ + 1;
    __asm__ volatile("leaq 0(%%rip), %0" : "=r"(here));
    return here;
}

static __attribute__((noinline)) uintptr_t outer(void)
{
    return inlined();
}

static int first_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

static void execute(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Frames: 1 in inlined() as an interrupted position, 2 in no object with a name, 3 in a missing
 * object, 4 beyond everything. */
static int open_frames(void **state)
{
    uintptr_t base = 0;
    uintptr_t here = outer();
    char sql[512];
    sqlite3 *db;

    dl_iterate_phdr(first_base, &base);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (const struct embedded_sql *file = embedded_schema; file->name; file++)
        execute(db, file->text);
    execute(db, "INSERT INTO objects(object_id, path) VALUES (1, '/proc/self/exe'),"
                " (2, '/nowhere/libmissing.so'), (3, '/never/used')");
    snprintf(sql, sizeof(sql),
             "INSERT INTO frames VALUES (1, 1, %llu, 1), (2, NULL, 4096, 0), (3, 2, 100, 0),"
             " (4, 1, -1, 1)",
             (unsigned long long)(here - base - 1));
    execute(db, sql);
    execute(db, "INSERT INTO functions VALUES (7, '[no backtrace]', '[no backtrace]');"
                "INSERT INTO frame_lines(frame_id, inline_level, function_id) VALUES (2, 0, 7);"
                "INSERT INTO backtraces(backtrace_id, last_descendant_id, frame_id, depth, status)"
                " VALUES (1, 1, 1, 1, 'complete'), (2, 2, 2, 1, 'complete')");
    *state = db;
    return 0;
}

static int close_frames(void **state)
{
    return sqlite3_close(*state);
}

static void assert_text(sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *statement;
    const char *found;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    found = (const char *)sqlite3_column_text(statement, 0);
    assert_string_equal(found ? found : "NULL", expected);
    sqlite3_finalize(statement);
}

static void assert_all(sqlite3 *db)
{
    char expected[128];

    assert_text(db,
                "SELECT group_concat(inline_level || ' ' || f.name, ', ') FROM frame_lines"
                " JOIN functions AS f USING (function_id) WHERE frame_id = 1",
                "0 inlined, 1 outer");
    snprintf(expected, sizeof(expected), "%d", inlined_line);
    assert_text(db, "SELECT line FROM frame_lines WHERE frame_id = 1 AND inline_level = 0",
                expected);
    assert_text(db,
                "SELECT path GLOB '/*/tests/unit/importer/symbols/test_symbols.c' FROM frame_lines"
                " JOIN sources USING (source_id) WHERE frame_id = 1 AND inline_level = 1",
                "1");
    assert_text(db,
                "SELECT f.name FROM frame_lines JOIN functions AS f USING (function_id)"
                " WHERE frame_id = 2",
                "[no backtrace]");
    assert_text(db,
                "SELECT group_concat(frame_id || ' ' || inline_level, ', ') FROM frame_lines"
                " WHERE function_id IS NULL AND source_id IS NULL AND line IS NULL",
                "3 0, 4 0");
    assert_text(db, "SELECT debug_path FROM objects WHERE object_id = 1", "/proc/self/exe");
    assert_text(db, "SELECT debug_note FROM objects WHERE object_id = 1", "NULL");
    assert_text(db,
                "SELECT debug_note LIKE '''/nowhere/libmissing.so''%--sysroot%' FROM objects"
                " WHERE object_id = 2",
                "1");
    assert_text(db, "SELECT debug_note FROM objects WHERE object_id = 3", "NULL");
}

TEST_WITH(test_writes_all_and_again, open_frames, close_frames)
{
    struct symbols_options options = {.n_threads = 3};
    struct error err;

    assert_int_equal(symbols_write(*state, &options, &err), 0);
    assert_all(*state);
    options.n_threads = 1;
    assert_int_equal(symbols_write(*state, &options, &err), 0);
    assert_all(*state);
}

/* The name of a cached function shows that it was not looked up again. */
static void forge_cache(const char *dir, const char *build_id)
{
    struct symbolizer_options options = {0};
    struct symbol_cache_position *positions;
    struct symbol_store store = {0};
    struct symbolizer *symbolizer;
    struct symbolizer_level forged = {.function = "forged", .raw_name = "forged"};
    size_t n_positions;
    struct error err;

    assert_int_equal(
        symbolizer_open(&options,
                        &(struct symbolizer_object){.path = "/proc/self/exe", .build_id = build_id},
                        &symbolizer, &err),
        0);
    positions =
        symbol_cache_load(dir, build_id, symbolizer_identity(symbolizer), &store, &n_positions);
    assert_non_null(positions);
    assert_int_equal(n_positions, 2);
    assert_true(symbol_store_add(&store, &forged, 1, &positions[0].span));
    assert_true(
        symbol_cache_save(dir, build_id, symbolizer_identity(symbolizer), &store, positions, 1));
    symbolizer_close(symbolizer);
    symbol_store_done(&store);
    free(positions);
}

TEST_WITH(test_cache_gives_the_same, open_frames, close_frames)
{
    char dir[] = "/tmp/test_symbols.XXXXXX";
    struct symbols_options options = {.cache_dir = mkdtemp(dir)};
    char text[256];
    struct error err;

    execute(*state, "UPDATE objects SET build_id = '" MTRACE_BUILD_ID "' WHERE object_id = 1");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(symbols_write(*state, &options, &err), 0);
        assert_all(*state);
    }
    forge_cache(dir, MTRACE_BUILD_ID);
    assert_int_equal(symbols_write(*state, &options, &err), 0);
    assert_text(*state, "SELECT group_concat(name, ', ') FROM functions", "forged, [no backtrace]");
    snprintf(text, sizeof(text), "rm -r '%s'", dir);
    assert_int_equal(system(text), 0);
}

TEST_WITH(test_is_interrupted, open_frames, close_frames)
{
    static const volatile sig_atomic_t interrupted = 1;
    struct progress progress;
    struct symbols_options options = {.progress = &progress};
    struct error err;

    progress_init(&progress, NULL, &interrupted);
    assert_int_equal(symbols_write(*state, &options, &err), ERROR_INTERRUPTED);
}
