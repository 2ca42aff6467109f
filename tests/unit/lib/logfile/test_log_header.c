/* SPDX-License-Identifier: MIT */
#include "lib/logfile/log_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* needs the headers above */
#include <cmocka.h>

/* What was marked is read; whatever bit of it is another, it is no mark. */
static void test_mark(void **state)
{
    const uint64_t until = 123456;
    struct log_punched_hole mark;
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    assert_int_equal(punched_hole_read(fileno(file)), 0);
    assert_int_equal(punched_hole_mark(fileno(file), until), 0);
    assert_int_equal(punched_hole_read(fileno(file)), until);
    assert_int_equal(fseek(file, LOG_FILE_HEADER_BYTES, SEEK_SET), 0);
    assert_int_equal(fread(&mark, sizeof(mark), 1, file), 1);
    assert_int_equal(mark.until, until);
    for (size_t i = 0; i < 8 * sizeof(mark); i++) {
        ((uint8_t *)&mark)[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(punched_hole_parse(&mark, sizeof(mark)), 0);
        ((uint8_t *)&mark)[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    assert_int_equal(punched_hole_parse(&mark, sizeof(mark) - 1), 0);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mark)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
