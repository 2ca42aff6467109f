/* SPDX-License-Identifier: MIT */
/* The block that contains an address, compared with a search through all blocks. */
#include "importer/image/block_index.h"
#include "tests/lib/unit.h"

static void add(struct block_index *index, uint64_t address, uint64_t size_bytes)
{
    index->blocks = realloc(index->blocks, (index->n_blocks + 1) * sizeof *index->blocks);
    assert_non_null(index->blocks);
    index->blocks[index->n_blocks++] = (struct live_block_row){
        .address = address, .size_bytes = size_bytes, .allocation_id = index->n_blocks + 1};
}

static uint32_t find_slowly(const struct block_index *index, uint64_t address)
{
    for (uint32_t i = 0; i < index->n_blocks; i++) {
        uint64_t size = index->blocks[i].size_bytes ? index->blocks[i].size_bytes : 1;

        if (address >= index->blocks[i].address && address - index->blocks[i].address < size)
            return i;
    }
    return NO_BLOCK;
}

TEST(test_every_address_finds_its_block)
{
    struct block_index index = {0};
    struct error err;
    uint64_t address = 0x7f0000000ff0;

    srandom(1);
    for (int i = 0; i < 3000; i++) { /* small ones, and some of many pages and of many chunks */
        uint64_t size = i % 1000 == 999 ? 40 << 20
                        : i % 100 == 99 ? 20000
                                        : (uint64_t)random() % 200;

        add(&index, address, size);
        address += (size + 31) / 16 * 16 + (i % 50 == 0 ? 1 << 20 : 0);
    }
    add(&index, 0x5000, 8);
    assert_int_equal(block_index_make(&index, &err), 0);
    for (uint32_t i = 0; i < index.n_blocks; i++) {
        const struct live_block_row *block = &index.blocks[i];

        assert_int_equal(block_index_find(&index, block->address), i);
        if (block->size_bytes)
            assert_int_equal(block_index_find(&index, block->address + block->size_bytes - 1), i);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t at = 0x7f0000000000 + (uint64_t)random() % (address - 0x7f0000000000 + 5000);

        assert_int_equal(block_index_find(&index, at), find_slowly(&index, at));
    }
    assert_int_equal(block_index_find(&index, 0), NO_BLOCK);
    assert_int_equal(block_index_find(&index, UINT64_MAX), NO_BLOCK);
    block_index_done(&index);
}

TEST(test_overlapping_blocks_are_cut)
{
    struct block_index index = {0};
    struct error err;

    add(&index, 0x1000, 100);
    add(&index, 0x1010, 100);
    assert_int_equal(block_index_make(&index, &err), 0);
    assert_int_equal(block_index_find(&index, 0x100f), 0);
    assert_int_equal(block_index_find(&index, 0x1010), 1);
    block_index_done(&index);
}

TEST(test_no_blocks)
{
    struct block_index index = {0};
    struct error err;

    assert_int_equal(block_index_make(&index, &err), 0);
    assert_int_equal(block_index_find(&index, 0x1000), NO_BLOCK);
    block_index_done(&index);
}
