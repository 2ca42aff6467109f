/* SPDX-License-Identifier: MIT */
/* The index of live blocks: any number of them, in bounded memory, also if handlers jump out of
 * it. */
#include "collector/sampling/live_block_index.h"
#include "tests/lib/unit.h"
#include "tests/unit/collector/jumps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    N_MANY = 300000,
    N_JUMPS = 5000,
    N_HELD = 1000,
    FIRST_ADDRESS = 4096,
    OTHER_ADDRESS = 64,
    MAX_BYTES_A_BLOCK = 256,
    FIRST_BYTES = 128 * 1024,
};

static _Atomic size_t g_mapped_bytes;

void *__real_memory_map_inherited(size_t size_bytes);
void *__wrap_memory_map_inherited(size_t size_bytes);

void *__wrap_memory_map_inherited(size_t size_bytes)
{
    atomic_fetch_add(&g_mapped_bytes, size_bytes);
    return __real_memory_map_inherited(size_bytes);
}

static const void *block_at(uintptr_t address)
{
    return (const void *)address;
}

static void put(uintptr_t address, uint32_t group)
{
    live_block_index_put(block_at(address), &(struct known_block){24, 24 + group % 8, group, 1, 2});
}

static bool is_known(uintptr_t address, uint32_t group)
{
    struct known_block known;

    return live_block_index_find(block_at(address), &known) && known.group == group
           && known.size_bytes == 24 && known.usable_bytes == 24 + group % 8;
}

static int begin(void **state)
{
    (void)state;
    return live_block_index_begin() ? 0 : 1;
}

static _Atomic unsigned g_n_taken;

static void *put_and_take(void *unused)
{
    struct known_block known;

    while (!jumps_are_over()) {
        if (sigsetjmp(g_jumps_back, 1) != 0)
            continue;
        jumps_allow(true);
        while (!jumps_are_over()) {
            put(FIRST_ADDRESS, 7);
            if (live_block_index_take(block_at(FIRST_ADDRESS), &known))
                atomic_fetch_add(&g_n_taken, 1);
        }
    }
    jumps_allow(false);
    return unused;
}

/* One address again and again, interrupted at any instruction: its slots are found again. */
TEST(a_jump_costs_no_more_than_a_place)
{
    pthread_t thread;

#ifdef __SANITIZE_THREAD__
    skip(); /* it runs handlers later than they come, where none can jump out of this */
#endif
    assert_true(jumps_start(&thread, put_and_take));
    jumps_make(thread, N_JUMPS);
    jumps_end();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(g_n_taken > 0);
    assert_int_equal(g_mapped_bytes, FIRST_BYTES);
}

/* KB-5 */
TEST(slots_held_forever_do_not_grow_the_index)
{
    uint64_t n_lost = live_block_index_count_lost();

    put(FIRST_ADDRESS, 9);
    assert_true(is_known(FIRST_ADDRESS, 9));
    for (unsigned i = 0; i < N_HELD; i++) {
        put(OTHER_ADDRESS, i);
        (void)live_block_index_hold(block_at(OTHER_ADDRESS));
    }
    assert_int_equal(g_mapped_bytes, FIRST_BYTES);
    assert_in_range(live_block_index_count_lost() - n_lost, N_HELD - 8, N_HELD);
    assert_true(is_known(FIRST_ADDRESS, 9));
}

/* A block of that address in another thread is a different one, whether it is held or not. */
TEST(held_blocks_are_not_overwritten)
{
    struct known_place *place;

    place = live_block_index_hold(block_at(FIRST_ADDRESS));
    assert_non_null(place);
    put(FIRST_ADDRESS, 11);
    assert_int_equal(live_block_index_held(place).group, 9);
    live_block_index_let_go(place);
    assert_true(is_known(FIRST_ADDRESS, 11));
}

TEST(any_number_is_known)
{
    const uint64_t n_lost = live_block_index_count_lost();
    struct known_block known;

    for (uint32_t i = 1; i <= N_MANY; i++)
        put(FIRST_ADDRESS + (uintptr_t)i * 48, i);
    for (uint32_t i = 1; i <= N_MANY; i++)
        assert_true(is_known(FIRST_ADDRESS + (uintptr_t)i * 48, i));
    assert_int_equal(live_block_index_count_lost(), n_lost);
    assert_true(g_mapped_bytes < (size_t)N_MANY * MAX_BYTES_A_BLOCK);
    assert_true(live_block_index_move(block_at(FIRST_ADDRESS + 48), 77, &known));
    assert_int_equal(known.group, 1);
    assert_true(live_block_index_find(block_at(FIRST_ADDRESS + 48), &known));
    assert_int_equal(known.group, 77);
    assert_false(live_block_index_move(block_at(FIRST_ADDRESS + 49), 77, &known));
    for (uint32_t i = 1; i <= N_MANY; i++) {
        assert_true(live_block_index_take(block_at(FIRST_ADDRESS + (uintptr_t)i * 48), &known));
        assert_int_equal(known.group, i == 1 ? 77 : i);
        assert_false(live_block_index_take(block_at(FIRST_ADDRESS + (uintptr_t)i * 48), &known));
    }
}

TEST(invalid_addresses_are_unknown)
{
    const uintptr_t beyond = (uintptr_t)(1ull << 63); /* 0 where addresses have 32 bits */
    struct known_block known;

    assert_false(live_block_index_take(NULL, &known));
    assert_false(live_block_index_find(block_at(beyond), &known));
    if (beyond != 0)
        assert_null(live_block_index_hold(block_at(beyond + FIRST_ADDRESS)));
    assert_false(live_block_index_move(block_at(beyond), 5, &known));
}

/* As when a process is attached to again; a holder releases slots that it held in between. */
TEST(a_block_added_again_is_a_new_block)
{
    uint64_t n_forgotten = 0;
    struct known_place *held;
    uint64_t n_lost;

    live_block_index_forget_all(); /* what other tests have left */
    n_lost = live_block_index_count_lost();
    for (unsigned i = 0; i < N_MANY; i++) {
        put(FIRST_ADDRESS + 16 * (uintptr_t)i, 1);
        n_forgotten += is_known(FIRST_ADDRESS + 16 * (uintptr_t)i, 1);
    }
    assert_int_equal(live_block_index_count_lost() - n_lost, N_MANY - n_forgotten);
    held = live_block_index_hold(block_at(FIRST_ADDRESS));
    assert_non_null(held);
    n_lost = live_block_index_count_lost();
    live_block_index_forget_all();
    assert_int_equal(live_block_index_count_lost() - n_lost, n_forgotten - 1);
    live_block_index_let_go(held);
    for (unsigned i = 0; i < N_MANY; i++)
        assert_false(is_known(FIRST_ADDRESS + 16 * (uintptr_t)i, 1));
    n_lost = live_block_index_count_lost();
    put(FIRST_ADDRESS, 2);
    assert_true(is_known(FIRST_ADDRESS, 2));
    assert_int_equal(live_block_index_count_lost(), n_lost);
}

TESTS_WITH(begin, NULL);
