/* SPDX-License-Identifier: MIT */
/* A cache file returns its content unchanged, or nothing. */
#include "importer/symbols/symbol_cache.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_symbol_cache.XXXXXX";
static char dir[64];
static char file[96];

static const struct symbolizer_level inlined[] = {
    {.function = "grab(int)", .raw_name = "_Z4grabi", .source = "/src/a.h", .line = 7, .column = 3},
    {.function = "main", .raw_name = "main", .source = "/src/a.cc", .line = 90},
};
static const struct symbolizer_level unknown[] = {{0}};

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(dir, sizeof(dir), "%s/made/by/save", folder);
    snprintf(file, sizeof(file), "%s/abcd.symbols", dir);
    return 0;
}

static void save_two(void)
{
    struct symbol_store store = {0};
    struct symbol_cache_position positions[] = {{.offset = 16}, {.offset = 16, .is_exact = 1}};

    assert_true(symbol_store_add(&store, inlined, 2, &positions[0].span));
    assert_true(symbol_store_add(&store, unknown, 1, &positions[1].span));
    assert_true(symbol_cache_save(dir, "abcd", "one debug file", &store, positions, 2));
    symbol_store_done(&store);
}

static bool is_known(const char *build_id, const char *identity)
{
    struct symbol_store store = {0};
    size_t n_positions;
    struct symbol_cache_position *positions =
        symbol_cache_load(dir, build_id, identity, &store, &n_positions);
    bool is_found = positions != NULL;

    assert_int_equal(n_positions, is_found ? 2 : 0);
    free(positions);
    symbol_store_done(&store);
    return is_found;
}

TEST(what_went_in_comes_out)
{
    struct symbol_store store = {0};
    struct symbol_cache_position *positions;
    const struct symbol_level *levels;
    size_t n_positions;

    save_two();
    positions = symbol_cache_load(dir, "abcd", "one debug file", &store, &n_positions);
    assert_non_null(positions);
    assert_int_equal(n_positions, 2);
    assert_int_equal(positions[1].offset, 16);
    assert_int_equal(positions[1].is_exact, 1);
    assert_int_equal(positions[0].span.n_levels, 2);
    levels = &store.levels[positions[0].span.first_level];
    assert_string_equal(intern_get(&store.raw_names, levels[0].function), "_Z4grabi");
    assert_string_equal(intern_get(&store.names, store.name_of_raw[levels[0].function]),
                        "grab(int)");
    assert_string_equal(intern_get(&store.sources, levels[1].source), "/src/a.cc");
    assert_int_equal(levels[0].line, 7);
    assert_int_equal(levels[0].column, 3);
    assert_int_equal(store.levels[positions[1].span.first_level].function, SYMBOL_NONE);
    assert_int_equal(store.levels[positions[1].span.first_level].source, SYMBOL_NONE);
    free(positions);
    symbol_store_done(&store);
}

TEST(another_identity_is_not_served)
{
    save_two();
    assert_true(is_known("abcd", "one debug file"));
    assert_false(is_known("abcd", "another debug file"));
    assert_false(is_known("abce", "one debug file"));
    assert_false(is_known("../save/abcd", "one debug file"));
    assert_false(is_known("", "one debug file"));
}

static size_t read_cache(char *bytes, size_t size)
{
    FILE *in = fopen(file, "rb");

    assert_non_null(in);
    size = fread(bytes, 1, size, in);
    fclose(in);
    return size;
}

static void write_cache(const char *bytes, size_t size)
{
    FILE *out = fopen(file, "wb");

    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(out);
}

TEST(damage_is_found)
{
    char bytes[4096];
    size_t size;

    save_two();
    size = read_cache(bytes, sizeof(bytes));
    assert_in_range(size, 100, sizeof(bytes) - 1);
    for (size_t i = 0; i < size; i++) {
        write_cache(bytes, i);
        assert_false(is_known("abcd", "one debug file"));
        bytes[i] ^= 0x10;
        write_cache(bytes, size);
        assert_false(is_known("abcd", "one debug file"));
        bytes[i] ^= 0x10;
    }
    bytes[size] = 'x';
    write_cache(bytes, size + 1);
    assert_false(is_known("abcd", "one debug file"));
    write_cache(bytes, size);
    assert_true(is_known("abcd", "one debug file"));
}

TEST(a_folder_that_cannot_be_written_is_no_failure)
{
    struct symbol_store store = {0};

    assert_false(symbol_cache_save("/proc/no/such", "abcd", "x", &store, NULL, 0));
    assert_false(symbol_cache_save(dir, "../x", "x", &store, NULL, 0));
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

TESTS_WITH(make_folder, remove_folder);
