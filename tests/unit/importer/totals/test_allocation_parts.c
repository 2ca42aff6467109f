/* SPDX-License-Identifier: MIT */
#include "importer/totals/allocation_parts.h"
#include "tests/lib/unit.h"

enum {
    N_STACKS = 300,
    N_BLOCKS = 200000
};

/* Blocks of any stack and part, in no order; some stacks have none. */
TEST(sums_by_stack_and_part)
{
    static uint64_t blocks[N_STACKS][ALLOCATION_PARTS];
    static uint64_t bytes[N_STACKS][ALLOCATION_PARTS];
    struct allocation_parts allocations = {.rows = NULL};
    struct hash_map tally = {.n = 0};
    uint32_t random = 1;
    size_t n = 0;

    for (int i = 0; i < N_BLOCKS; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t stack = (random >> 8) % N_STACKS;
        uint32_t part = (random >> 20) % ALLOCATION_PARTS;
        struct sample_weight weight = {.blocks = 1 + (uint64_t)(i % 3),
                                       .bytes = (random >> 4) % 1000};
        if (stack % 7 == 0)
            continue;
        assert_int_equal(allocation_parts_add(&allocations, N_STACKS, stack, part, &weight, NULL),
                         0);
        blocks[stack][part] += weight.blocks;
        bytes[stack][part] += weight.bytes;
    }
    for (uint32_t stack = 0; stack < N_STACKS; stack++)
        assert_int_equal(allocation_parts_emit(&allocations, stack, 3, stack + 1000, &tally, NULL),
                         0);
    const struct pair_totals_entry *entry = tally.elements;
    for (uint32_t stack = 0; stack < N_STACKS; stack++) {
        for (uint32_t part = 0; part < ALLOCATION_PARTS; part++) {
            if (!blocks[stack][part])
                continue;
            assert_in_range(n++, 0, tally.n - 1);
            assert_int_equal(entry->process, 3);
            assert_int_equal(entry->from, stack + 1000);
            assert_int_equal(entry->to, part);
            assert_int_equal(entry->blocks, blocks[stack][part]);
            assert_int_equal(entry->bytes, bytes[stack][part]);
            entry++;
        }
    }
    assert_int_equal(n, tally.n);
    hash_map_done(&tally);
    allocation_parts_done(&allocations);
}

TEST(nothing_was_left)
{
    struct allocation_parts allocations = {.rows = NULL};
    struct hash_map tally = {.n = 0};

    assert_int_equal(allocation_parts_emit(&allocations, 5, 1, 1, &tally, NULL), 0);
    assert_int_equal(tally.n, 0);
    allocation_parts_done(&allocations);
}
