/* SPDX-License-Identifier: MIT */
#include "importer/pairing/live_table.h"
#include "tests/lib/unit.h"

static uint64_t address_of(uint32_t number)
{
    return UINT64_C(0x7f0000000000) + (uint64_t)number * 16;
}

TEST(wide_fields)
{
    struct live_block block = {0};

    live_block_set_slack(&block, 0xa34567890);
    live_block_set_allocations(&block, 0xfedcba9876);
    assert_int_equal(live_block_slack(&block), 0xa34567890);
    assert_int_equal(live_block_allocations(&block), 0xfedcba9876);
    assert_int_equal(block.address, 0);
    assert_int_equal(block.size, 0);
    assert_int_equal(block.alloc_ns, 0);
    assert_int_equal(block.allocation_id, 0);
    assert_int_equal(block.alignment_log2, 0);
    assert_int_equal(block.call, 0);
}

/* Against a plain array, with blocks that come and go at random. */
TEST(random_blocks)
{
    enum {
        ADDRESSES = 20000,
        STEPS = 400000
    };

    static uint64_t ids[ADDRESSES];
    struct live_table table;
    uint64_t seed = 7;
    size_t n_live = 0;

    live_table_init(&table);
    for (uint64_t step = 1; step <= STEPS; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        /* The number of addresses in use grows and shrinks. */
        uint32_t span = step / 50000 % 2 ? 100 : ADDRESSES;
        uint32_t number = (uint32_t)(seed >> 33) % span;
        struct live_block *block = live_table_find(&table, address_of(number));
        assert_int_equal(block ? block->allocation_id : 0, ids[number]);
        if (block) {
            live_table_remove(&table, block);
            ids[number] = 0;
            n_live--;
        } else {
            assert_int_equal(live_table_add(&table, address_of(number), &block, NULL), 0);
            ids[number] = step;
            block->allocation_id = step & 0xffffff;
            n_live++;
        }
        assert_int_equal(table.n_blocks, n_live);
    }
    live_table_check(&table);
    uint32_t cursor = 0;
    while (live_table_next(&table, &cursor))
        n_live--;
    assert_int_equal(n_live, 0);
    live_table_done(&table);
}

/* The guess for a live address is its block, but for the few whose slot is in another line. */
TEST(guesses)
{
    enum {
        ADDRESSES = 3000
    };

    struct live_table table;
    struct live_block *block;
    int n_right = 0;

    live_table_init(&table);
    assert_null(live_table_guess(&table, address_of(1)));
    for (uint32_t i = 0; i < ADDRESSES; i++)
        assert_int_equal(live_table_add(&table, address_of(i), &block, NULL), 0);
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        const struct live_block *guess = live_table_guess(&table, address_of(i));
        live_table_prefetch(&table, address_of(i));
        n_right += guess && guess->address == address_of(i);
    }
    assert_in_range(n_right, ADDRESSES / 2, ADDRESSES);
    live_table_done(&table);
}

TEST(memory_per_block)
{
    struct live_table table;

    live_table_init(&table);
    for (uint32_t i = 0; i < 1000000; i++) {
        struct live_block *block;
        assert_int_equal(live_table_add(&table, address_of(i), &block, NULL), 0);
        size_t n_bytes = table.n_pieces * LIVE_TABLE_PIECE_BLOCKS * sizeof(struct live_block)
                         + table.max_pieces * sizeof *table.pieces
                         + table.n_slots * sizeof *table.slots;
        assert_true(n_bytes <= table.n_blocks * 65 + 8 * 1024); /* LT-2 */
    }
    live_table_done(&table);
}
