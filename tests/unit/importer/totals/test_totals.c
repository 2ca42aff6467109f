/* SPDX-License-Identifier: MIT */
/* Reports about blocks whose allocation was not seen, as from a crafted checkpoint. */
#include "importer/totals/totals.h"
#include "tests/lib/unit.h"

#include <string.h>

TEST(refuses_chains_of_no_stack)
{
    const struct live_block block = {
        .address = 4096, .alloc_ns = 1, .size = 100, .backtrace = 1, .thread = 1};
    struct totals_block counted;
    struct totals *totals;
    struct error err = {0};

    assert_int_equal(totals_new(1, 1, 100000, &totals, NULL), 0);
    totals_advance(totals, 1, 1);
    totals_block_read(totals, 1, &block, &counted);
    assert_int_equal(totals_allocated(totals, 1, &counted, NULL, NULL), 0);
    totals_finish(totals);
    assert_int_equal(totals_live_at_end(totals, 1, &block, PAIRING_LEAKED, 1, &err), 0);
    assert_int_equal(totals_live_at_end(totals, 1, &block, PAIRING_LEAKED, 2, &err), ERROR_FORMAT);
    assert_non_null(strstr(err.text, "checkpoint of the recording"));
    assert_int_equal(totals_live_at_end(totals, 1, &block, PAIRING_LEAKED, 100000, &err),
                     ERROR_FORMAT);
    totals_free(totals);
}

/* TO-6: blocks of stack 1 are freed on stacks 2 to 11, one after the other and all over again. */
TEST(pairs_beyond_the_first_are_one)
{
    enum {
        MOST = 4,
        N_SITES = 10,
        N = 1000
    };
    const struct live_block block = {
        .address = 4096, .alloc_ns = 1, .size = 100, .backtrace = 1, .thread = 1};
    struct totals_block counted;
    struct totals *totals;

    assert_int_equal(totals_new(1, 1, 100, &totals, NULL), 0);
    totals_bound(totals, MOST);
    totals_advance(totals, 1, 1);
    totals_block_read(totals, 1, &block, &counted);
    for (uint32_t i = 0; i < N; i++) {
        const struct pairing_end end = {
            .time_ns = 1, .backtrace = 2 + i % N_SITES, .thread = 1, .ended_by = PAIRING_FREED};
        assert_int_equal(totals_allocated(totals, 1, &counted, NULL, NULL), 0);
        assert_int_equal(totals_ended(totals, 1, &counted, &end, NULL), 0);
    }
    totals_finish(totals);
    assert_int_equal(totals_flush(totals, NULL), 0);
    assert_int_equal(totals->free_sites.n, MOST + 1);
    for (uint32_t to = 2; to < 2 + N_SITES; to++) {
        const struct pair_totals_entry *entry = pair_totals_find(&totals->free_sites, 1, 1, to);
        assert_int_equal(entry ? entry->blocks : 0, to < 2 + MOST ? N / N_SITES : 0);
    }
    assert_int_equal(pair_totals_find(&totals->free_sites, 1, 1, 0)->bytes, 100 * N / N_SITES * 6);
    assert_int_equal(totals->n_unreported_free_sites, N / N_SITES * 6);
    assert_int_equal(totals->n_unreported_flows, 0);
    totals_free(totals);
}
