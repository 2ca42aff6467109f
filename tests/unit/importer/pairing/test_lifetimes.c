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

enum {
    N_GROUPED = 3000 /* more ends than a chunk holds */
};
