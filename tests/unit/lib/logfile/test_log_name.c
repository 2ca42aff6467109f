/* SPDX-License-Identifier: MIT */
/* Names of logs from their patterns. */
#include "lib/logfile/log_name.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>
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

static void placeholders_are_replaced(void **state)
{
    (void)state;
    check(LOG_NAME_DEFAULT, "mtrace_prog_1700000000_77.dat");
    check("100%%", "100%");
    check("%x%", "%x%");
    check("plain", "plain");
    check("%p%e", "77prog");
}

static void numbers_are_free_ones(void **state)
{
    char folder[] = "/tmp/mtrace-test-log-name-XXXXXX";
    char pattern[64];
    char want[64];
    char taken[64];

    (void)state;
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

static void senseless_names_are_refused(void **state)
{
    static const char *const patterns[] = {"", "a\nb", "a\037b"};
    char *name;

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
        assert_int_equal(log_name_expand(patterns[i], &values, &name, NULL), ERROR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_are_replaced),
        cmocka_unit_test(numbers_are_free_ones),
        cmocka_unit_test(senseless_names_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
