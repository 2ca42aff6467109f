/* SPDX-License-Identifier: MIT */
#include "lib/totals/pair_totals.h"
#include "tests/lib/unit.h"

enum {
    N_FROM = 7,
    N_TO = 3,
    N_BLOCKS = 5000
};

struct both {
    struct hash_map by_runs, direct;
    struct pair_totals_run runs[N_FROM];
    uint64_t expected[N_FROM][N_TO];
};

static void count(struct both *both, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct sample_weight weight = {.blocks = 1, .bytes = bytes};

    assert_int_equal(
        pair_totals_count(&both->by_runs, &both->runs[from], 1, from, to, &weight, NULL), 0);
    assert_int_equal(pair_totals_add(&both->direct, 1, from, to, 1, bytes, NULL), 0);
    both->expected[from][to] += bytes;
}

/* Filters add blocks directly or by runs, the importer by runs: all sums equal those of blocks. */
TEST(runs_equal_direct_sums)
{
    struct both both = {.by_runs = {.n = 0}};
    uint32_t random = 1;

    for (int i = 0; i < N_BLOCKS; i++) {
        random = random * 1664525u + 1013904223u;
        count(&both, (random >> 8) % N_FROM, (random >> 16) % N_TO, (random >> 20) + 1);
    }
    for (uint32_t from = 0; from < N_FROM; from++)
        assert_int_equal(pair_totals_flush(&both.by_runs, &both.runs[from], from, NULL), 0);
    pair_totals_sort(&both.by_runs);
    pair_totals_sort(&both.direct);
    assert_int_equal(both.by_runs.n, N_FROM * N_TO);
    assert_int_equal(both.direct.n, N_FROM * N_TO);
    for (size_t i = 0; i < both.direct.n; i++) {
        const struct pair_totals_entry *direct =
            &((const struct pair_totals_entry *)both.direct.elements)[i];

        assert_memory_equal(direct, &((const struct pair_totals_entry *)both.by_runs.elements)[i],
                            sizeof *direct);
        assert_int_equal(direct->from, i / N_TO);
        assert_int_equal(direct->to, i % N_TO);
        assert_int_equal(direct->bytes, both.expected[direct->from][direct->to]);
    }
    hash_map_done(&both.by_runs);
    hash_map_done(&both.direct);
}

/* Changes of live memory are negative when blocks end. */
TEST(sums_may_be_negative)
{
    struct hash_map pairs = {.n = 0};
    const struct pair_totals_entry *entry;

    assert_int_equal(pair_totals_add(&pairs, 1, 2, 3, 1, 10, NULL), 0);
    assert_int_equal(pair_totals_add(&pairs, 1, 2, 3, (uint64_t)-2, (uint64_t)-30, NULL), 0);
    entry = pair_totals_find(&pairs, 1, 2, 3);
    assert_int_equal((int64_t)entry->blocks, -1);
    assert_int_equal((int64_t)entry->bytes, -20);
    assert_null(pair_totals_find(&pairs, 1, 3, 2));
    hash_map_done(&pairs);
}
