/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <string.h>

/* E-1: names of foreign files may have anything in them. */
TEST(a_message_is_one_line)
{
    struct error err;

    assert_int_equal(error_set(&err, ERROR_USAGE, "'%s' is none", "a\n\x1b[31m\x7f\xc3\xa9"),
                     ERROR_USAGE);
    assert_string_equal(err.text, "'a??[31m?\xc3\xa9' is none");
    assert_int_equal(error_set_errno(&err, ENOENT, "'%s'", "a\tb"), ERROR_IO);
    assert_memory_equal(err.text, "'a?b': ", 7);
    assert_int_equal(error_set_offset(&err, ERROR_FORMAT, 7, "'%s'", "\r"), ERROR_FORMAT);
    assert_string_equal(err.text, "'?' at byte 7");
}

TEST(a_long_message_is_cut)
{
    char name[2 * ERROR_TEXT_BYTES];
    struct error err;

    memset(name, '\n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    (void)error_set(&err, ERROR_IO, "%s", name);
    assert_int_equal(strlen(err.text), ERROR_TEXT_BYTES - 1);
    assert_null(strchr(err.text, '\n'));
}

/* Also for a quota or a limit, because a caller that waits for space waits for these. */
TEST(a_quota_and_a_limit_are_a_full_disk)
{
    struct error err;

    (void)error_set_errno(&err, EDQUOT, "cannot write");
    assert_true(error_is_disk_full(&err));
    assert_true(error_means_disk_full(ENOSPC));
    assert_true(error_means_disk_full(EFBIG));
    (void)error_set_errno(&err, EIO, "cannot write");
    assert_false(error_is_disk_full(&err));
}
