/* SPDX-License-Identifier: MIT */
/* Records put into the buckets come out again, in order of id, joined with their frees. */
#include "importer/pairing/lifetimes.h"
#include "lib/abi/log_format.h"
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    N_BLOCKS = LIFETIMES_BUCKET_IDS + 5000 /* two buckets, many chunks */
};

static struct live_block block_of(uint64_t id)
{
    struct live_block block = {
        .allocation_id = id & 0xffffff,
        .alloc_ns = id * 10 & 0xffffffff,
        .address = (0x10000 + (id * 7919 % 100000) * 16) & 0xffffffff,
        .size = id % 5000 & 0xffff,
        .backtrace = (uint32_t)(id % 300 + 1),
        .thread = (uint32_t)(id / 1000 % 3 + 1),
        .call = id % 11 == 0 ? LOG_CHUNK_KNOWN | LOG_CHUNK_NON_MAIN : LOG_CHUNK_KNOWN,
        .alignment_log2 = id % 13 == 0 ? 6 : 0,
    };
    live_block_set_slack(&block, id % 17 == 0 ? LIVE_BLOCK_SLACK_UNKNOWN : id % 16);
    return block;
}

/* Every third block is freed by its own thread, the next one by another, the next one never. */
static struct pairing_end end_of(const struct live_block *block)
{
    bool own = block->allocation_id % 3 == 0;

    return (struct pairing_end){
        .time_ns = block->alloc_ns + block->allocation_id % 1000,
        .intervening = own ? block->allocation_id % 7 : PAIRING_UNKNOWN,
        .thread = own ? block->thread : block->thread + 1,
        .backtrace = own ? 9 : 10,
        .ended_by = PAIRING_FREED,
    };
}

static bool is_ended(uint64_t id)
{
    return id % 3 != 2;
}

static void check(const struct allocation *read)
{
    struct live_block block = block_of(read->allocation_id);
    struct pairing_end end = end_of(&block);
    bool ended = is_ended(read->allocation_id);

    assert_int_equal(read->alloc_ns, block.alloc_ns);
    assert_int_equal(read->address, block.address);
    assert_int_equal(read->size_bytes, block.size);
    assert_int_equal(read->slack_bytes, live_block_slack(&block));
    assert_int_equal(read->backtrace, block.backtrace);
    assert_int_equal(read->thread, block.thread);
    assert_int_equal(read->call, block.call);
    assert_int_equal(read->alignment_log2, block.alignment_log2);
    assert_int_equal(read->ended_by, ended ? PAIRING_FREED : PAIRING_LEAKED);
    assert_int_equal(read->lifetime_ns, ended ? end.time_ns - block.alloc_ns : PAIRING_UNKNOWN);
    assert_int_equal(read->intervening, ended ? end.intervening : PAIRING_UNKNOWN);
    assert_int_equal(read->free_thread, ended ? end.thread : 0);
    assert_int_equal(read->free_backtrace, ended ? end.backtrace : 0);
    assert_int_equal(read->is_above, read->allocation_id % 3 == 0);
}

/* Frees come long after allocations and in another order. */
TEST(two_buckets)
{
    struct lifetimes *lifetimes;
    struct allocation read;
    const struct pairing_chain *chain;
    struct error err;
    uint64_t n_read = 0;

    assert_int_equal(lifetimes_new("lifetimes", &lifetimes, &err), 0);
    for (uint64_t id = 1; id <= N_BLOCKS; id++) {
        struct live_block block = block_of(id);
        assert_int_equal(lifetimes_allocated(lifetimes, &block, 0, id % 3 == 0, NULL, &err), 0);
    }
    for (uint64_t id = N_BLOCKS; id > 0; id--) {
        struct live_block block = block_of(id);
        struct pairing_end end = end_of(&block);
        if (is_ended(id))
            assert_int_equal(lifetimes_ended(lifetimes, &block, &end, &err), 0);
    }
    assert_true(lifetimes_disk_bytes(lifetimes) <= UINT64_C(24) * N_BLOCKS);
    assert_int_equal(lifetimes_rewind(lifetimes, &err), 0);
    while (lifetimes_next(lifetimes, &read, &chain, &err) == 1) {
        assert_int_equal(read.allocation_id, ++n_read);
        assert_null(chain);
        check(&read);
    }
    assert_int_equal(n_read, N_BLOCKS);
    lifetimes_free(lifetimes);
}

static void give_chain(struct lifetimes *lifetimes)
{
    struct live_block first = block_of(1), second = block_of(2);
    struct pairing_end end = {.time_ns = 20,
                              .intervening = PAIRING_UNKNOWN,
                              .thread = 1,
                              .backtrace = 4,
                              .ended_by = PAIRING_REALLOCATED};
    struct pairing_link link = {.chain_id = 1, .chain_position = 2, .realloc_from_id = 1};
    struct pairing_chain chain = {.chain_id = 1,
                                  .last_allocation_id = 2,
                                  .length = 2,
                                  .last_size = second.size,
                                  .start_ns = first.alloc_ns,
                                  .end_ns = PAIRING_UNKNOWN,
                                  .copied_bytes = 77,
                                  .moves = 1,
                                  .process = 1,
                                  .last_backtrace = second.backtrace};

    assert_int_equal(lifetimes_allocated(lifetimes, &first, 0, false, NULL, NULL), 0);
    assert_int_equal(lifetimes_ended(lifetimes, &first, &end, NULL), 0);
    assert_int_equal(lifetimes_allocated(lifetimes, &second, 0, false, &link, NULL), 0);
    assert_int_equal(lifetimes_chain_ended(lifetimes, &chain, NULL), 0);
}

/* A chain is reported with its first block, which has its own size and stack. */
TEST(chain)
{
    struct lifetimes *lifetimes;
    struct allocation read;
    const struct pairing_chain *reported;

    assert_int_equal(lifetimes_new("lifetimes", &lifetimes, NULL), 0);
    give_chain(lifetimes);
    assert_int_equal(lifetimes_rewind(lifetimes, NULL), 0);
    assert_int_equal(lifetimes_next(lifetimes, &read, &reported, NULL), 1);
    assert_int_equal(read.ended_by, PAIRING_REALLOCATED);
    assert_int_equal(read.chain_position, 1);
    assert_non_null(reported);
    assert_int_equal(reported->first_size, read.size_bytes);
    assert_int_equal(reported->first_backtrace, read.backtrace);
    assert_int_equal(reported->copied_bytes, 77);
    assert_int_equal(reported->end_ns, PAIRING_UNKNOWN);
    assert_int_equal(lifetimes_next(lifetimes, &read, &reported, NULL), 1);
    assert_null(reported);
    assert_int_equal(read.chain_id, 1);
    assert_int_equal(read.chain_position, 2);
    assert_int_equal(read.realloc_from_id, 1);
    assert_int_equal(lifetimes_next(lifetimes, &read, &reported, NULL), 0);
    lifetimes_free(lifetimes);
}

/* A block that seemed to end unseen was freed after all: in any order, the free wins. */
TEST(explained)
{
    struct live_block block = block_of(1);
    struct pairing_end unseen = {
        .time_ns = 30, .intervening = PAIRING_UNKNOWN, .ended_by = PAIRING_MISSED_FREE};
    struct pairing_end freed = end_of(&block);

    for (int order = 0; order < 2; order++) {
        struct lifetimes *lifetimes;
        struct allocation read;
        const struct pairing_chain *reported;
        assert_int_equal(lifetimes_new("lifetimes", &lifetimes, NULL), 0);
        assert_int_equal(lifetimes_allocated(lifetimes, &block, 0, false, NULL, NULL), 0);
        assert_int_equal(lifetimes_ended(lifetimes, &block, order ? &freed : &unseen, NULL), 0);
        assert_int_equal(lifetimes_ended(lifetimes, &block, order ? &unseen : &freed, NULL), 0);
        assert_int_equal(lifetimes_rewind(lifetimes, NULL), 0);
        assert_int_equal(lifetimes_next(lifetimes, &read, &reported, NULL), 1);
        assert_int_equal(read.ended_by, PAIRING_FREED);
        assert_int_equal(read.free_thread, freed.thread);
        lifetimes_free(lifetimes);
    }
}

enum {
    N_GROUPED = 3000 /* more ends than a chunk holds */
};

/* Group of the allocation, of the free, and where it was moved to, 0: nowhere. */
static uint32_t allocation_group(uint64_t id)
{
    return (uint32_t)(id / 7 % 3);
}

static uint32_t end_group(uint64_t id)
{
    return (uint32_t)(id % 4);
}

static uint32_t moved_to(uint64_t id)
{
    return id % 5 == 0 ? (uint32_t)(10 + id % 6) : 0;
}

static void give_grouped(struct lifetimes *lifetimes)
{
    for (uint64_t id = 1; id <= N_GROUPED; id++) {
        struct live_block block = block_of(id);
        assert_int_equal(
            lifetimes_allocated(lifetimes, &block, allocation_group(id), id % 3 == 0, NULL, NULL),
            0);
    }
    for (int round = 0; round < 2;
         round++) { /* the second move of a block is the one that counts */
        for (uint64_t id = 1; id <= N_GROUPED; id++) {
            struct live_block block = block_of(id);
            if (moved_to(id))
                assert_int_equal(
                    lifetimes_moved(lifetimes, &block, round ? moved_to(id) : 99, NULL), 0);
        }
    }
    for (uint64_t id = N_GROUPED; id > 0; id--) {
        struct live_block block = block_of(id);
        struct pairing_end end = end_of(&block);
        end.block_group = moved_to(id) ? moved_to(id) : allocation_group(id);
        end.group = end_group(id);
        if (is_ended(id))
            assert_int_equal(lifetimes_ended(lifetimes, &block, &end, NULL), 0);
    }
}

TEST(groups)
{
    struct lifetimes *lifetimes;
    struct allocation read;
    const struct pairing_chain *reported;

    assert_int_equal(lifetimes_new("lifetimes", &lifetimes, NULL), 0);
    give_grouped(lifetimes);
    assert_int_equal(lifetimes_rewind(lifetimes, NULL), 0);
    for (uint64_t id = 1; id <= N_GROUPED; id++) {
        assert_int_equal(lifetimes_next(lifetimes, &read, &reported, NULL), 1);
        check(&read);
        assert_int_equal(read.group, moved_to(id) ? moved_to(id) : allocation_group(id));
        if (is_ended(id))
            assert_int_equal(read.free_group, end_group(id));
    }
    lifetimes_free(lifetimes);
}
