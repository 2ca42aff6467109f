/* SPDX-License-Identifier: MIT */
/* Which files of the cache are kept: the last used ones that fit, and unrelated files. */
#include "importer/symbols/symbol_cache.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW ((time_t)2000000000)
#define DAY ((time_t)24 * 3600)

static char folder[64];

static void path_of(const char *name, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/%s", folder, name);
}

static void make(const char *name, size_t size, time_t age_s)
{
    struct timespec times[2] = {{.tv_sec = NOW - age_s}, {.tv_sec = NOW - age_s}};
    char path[128];
    int fd;

    path_of(name, path, sizeof(path));
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static bool is_there(const char *name)
{
    char path[128];

    path_of(name, path, sizeof(path));
    return access(path, F_OK) == 0;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/test_symbol_cache_prune.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

TEST_WITH(old_ones_go, make_folder, remove_folder)
{
    make("new.symbols", 10, 0);
    make("week.symbols", 10, 7 * DAY);
    make("old.symbols", 10, 91 * DAY);
    symbol_cache_prune(folder, 1000, 90 * DAY, NOW);
    assert_true(is_there("new.symbols") && is_there("week.symbols"));
    assert_false(is_there("old.symbols"));
}

TEST_WITH(the_rest_fits, make_folder, remove_folder)
{
    make("a.symbols", 400, 4 * DAY);
    make("b.symbols", 400, 3 * DAY);
    make("c.symbols", 400, 2 * DAY);
    make("d.symbols", 400, 5 * DAY);
    symbol_cache_prune(folder, 800, 90 * DAY, NOW);
    assert_true(is_there("b.symbols") && is_there("c.symbols"));
    assert_false(is_there("a.symbols") || is_there("d.symbols"));
    symbol_cache_prune(folder, 800, 90 * DAY, NOW);
    assert_true(is_there("b.symbols") && is_there("c.symbols"));
}

TEST_WITH(others_stay, make_folder, remove_folder)
{
    make("notes.txt", 5000, 400 * DAY);
    make(".symbols", 5000, 400 * DAY);
    make("x.symbols.AbCdEf", 10, 2 * DAY);
    make("y.symbols.AbCdEf", 10, DAY / 2);
    make("z.symbols", 10, DAY);
    symbol_cache_prune(folder, 1000, 90 * DAY, NOW);
    assert_true(is_there("notes.txt") && is_there(".symbols") && is_there("z.symbols"));
    assert_false(is_there("x.symbols.AbCdEf")); /* its writer was killed */
    assert_true(is_there("y.symbols.AbCdEf"));  /* its writer may be running */
    symbol_cache_prune("/no/such/folder", 0, 0, NOW);
}
