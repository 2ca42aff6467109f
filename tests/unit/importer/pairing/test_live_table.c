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

/* The same by slots, each taken and looked up some steps before it is used: events in between free
 * or move its block. */
TEST(prefetch_slots)
{
    enum {
        ADDRESSES = 3000,
        STEPS = 300000,
        AHEAD = 8
    };

    static uint64_t ids[ADDRESSES];
    struct live_table_prefetch_slot prefetch_slots[AHEAD] = {0};
    uint32_t numbers[AHEAD] = {0};
    struct live_table table;
    uint64_t seed = 11;

    live_table_init(&table);
    for (uint64_t step = 1; step <= STEPS; step++) {
        struct live_table_prefetch_slot *prefetch_slot = &prefetch_slots[step % AHEAD];
        uint32_t number = numbers[step % AHEAD];
        if (step > AHEAD) {
            struct live_block *block = live_table_find_prefetched(&table, prefetch_slot);
            assert_true(live_table_prefetch_is_for(&table, address_of(number), prefetch_slot));
            assert_int_equal(block ? block->allocation_id : 0, ids[number]);
            if (block) {
                live_table_remove_prefetched(&table, prefetch_slot);
            } else {
                block = live_table_add_prefetched(&table, prefetch_slot);
                if (!block) /* it has to grow */
                    assert_int_equal(live_table_add(&table, address_of(number), &block, NULL), 0);
                block->allocation_id = step & 0xffffff;
            }
            ids[number] = ids[number] ? 0 : step;
        }
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        numbers[step % AHEAD] = (uint32_t)(seed >> 33) % (step / 20000 % 2 ? 20 : ADDRESSES);
        live_table_expect(&table, address_of(numbers[step % AHEAD]), prefetch_slot);
        live_table_guess(&table, &prefetch_slots[(step + AHEAD / 2) % AHEAD]);
    }
    live_table_check(&table);
    for (uint32_t i = 0; i < ADDRESSES; i++)
        assert_true(ids[i] == 0 || live_table_find(&table, address_of(i))->allocation_id == ids[i]);
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
