/* SPDX-License-Identifier: MIT */
/* What is told of blocks that were not born here, as by a state that somebody made. */
#include "importer/facts/totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static void refuses_chains_of_no_stack(void **state)
{
    const struct live_block block = {
        .address = 4096, .alloc_ns = 1, .size = 100, .node = 1, .thread = 1};
    struct totals_block counted;
    struct totals *totals;
    struct error err = {0};

    (void)state;
    assert_int_equal(totals_new(1, 1, 100000, &totals, NULL), 0);
    totals_advance(totals, 1, 1);
    totals_block_read(totals, 1, &block, &counted);
    assert_int_equal(totals_born(totals, 1, &counted, NULL, NULL), 0);
    totals_finish(totals);
    assert_int_equal(totals_left(totals, 1, &block, PAIRING_LEAKED, 1, &err), 0);
    assert_int_equal(totals_left(totals, 1, &block, PAIRING_LEAKED, 2, &err), ERROR_FORMAT);
    assert_non_null(strstr(err.text, "state of the recording"));
    assert_int_equal(totals_left(totals, 1, &block, PAIRING_LEAKED, 100000, &err), ERROR_FORMAT);
    totals_free(totals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_chains_of_no_stack)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
