/* SPDX-License-Identifier: MIT */
/* Names of logs from their patterns. */
#include "lib/logfile/log_name.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* clang-format on */

static const struct log_name_values values = {
    .program = "/usr/bin/prog", .unix_seconds = 1700000000, .pid = 77};

static void check(const char *pattern, const char *want)
{
    struct error err;
    char *name = NULL;

    assert_int_equal(log_name_expand(pattern, &values, &name, &err), 0);
    assert_string_equal(name, want);
    free(name);
}

TEST(placeholders_are_replaced)
{
    check(LOG_NAME_DEFAULT, "mtrace_prog_1700000000_77.dat");
    check("100%%", "100%");
    check("%x%", "%x%");
    check("plain", "plain");
    check("%p%e", "77prog");
}

TEST(numbers_are_free_ones)
{
    char folder[] = "/tmp/mtrace-test-log-name-XXXXXX";
    char pattern[64];
    char want[64];
    char taken[64];

    assert_non_null(mkdtemp(folder));
    (void)snprintf(pattern, sizeof(pattern), "%s/run%%n", folder);
    (void)snprintf(want, sizeof(want), "%s/run1", folder);
    check(pattern, want);
    /* a live log alone takes its number as well */
    (void)snprintf(taken, sizeof(taken), "%s/run1.live", folder);
    close(open(taken, O_CREAT | O_WRONLY, 0600));
    (void)snprintf(want, sizeof(want), "%s/run2", folder);
    check(pattern, want);
    unlink(taken);
    rmdir(folder);
}

TEST(senseless_names_are_refused)
{
    static const char *const patterns[] = {"", "a\nb", "a\037b"};
    char *name;

    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        assert_int_equal(log_name_expand(patterns[i], &values, &name, NULL), ERROR_USAGE);
}
