/* SPDX-License-Identifier: MIT */
#include "lib/base/link_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* needs the headers above */
#include <cmocka.h>

static void where_it_leads(void **state)
{
    char folder[] = "/tmp/test-link-target-XXXXXX";
    char path[96];
    char target[8] = "before";

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/link", folder);
    assert_false(link_target(path, target, sizeof(target)));
    assert_string_equal(target, "");
    assert_int_equal(symlink("no/file", path), 0);
    assert_true(link_target(path, target, sizeof(target)));
    assert_string_equal(target, "no/file");
    assert_true(link_target(path, target, 4)); /* cut */
    assert_string_equal(target, "no/");
    assert_false(link_target(folder, target, sizeof(target))); /* no link */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(where_it_leads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
