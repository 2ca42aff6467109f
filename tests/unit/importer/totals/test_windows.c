/* SPDX-License-Identifier: MIT */
#include "importer/totals/windows.h"
#include "tests/lib/unit.h"

static struct window_numbers numbers_of(uint64_t blocks, uint64_t last_id)
{
    return (struct window_numbers){.allocated_blocks = blocks,
                                   .allocated_bytes = blocks * 100,
                                   .last_allocation = last_id,
                                   .start_ns = 10};
}

static void check(const struct window *window, uint64_t first, uint64_t last, uint64_t blocks)
{
    assert_int_equal(window->first_allocation, first);
    assert_int_equal(window->last_allocation, last);
    assert_int_equal(window->allocated_blocks, blocks);
    assert_int_equal(window->allocated_bytes, blocks * 100);
}

/* WN-3. Window i is from 100 i to 100 i + 60 and has i blocks, the last ones those of ids i (i - 1)
 * / 2 + 1 to i (i + 1) / 2. */
TEST(the_last_has_all_that_there_is_no_room_for)
{
    enum {
        MOST = 4,
        N = 10
    };
    struct windows windows = {.most = MOST};
    struct window_numbers numbers = numbers_of(0, 0);
    uint64_t blocks = 0;

    for (uint64_t i = 1; i <= N; i++) {
        assert_int_equal(
            windows_switch(&windows, true, LOG_SWITCH_CONTROL, i * 100, &numbers, NULL), 0);
        blocks += i;
        numbers = numbers_of(blocks, blocks);
        assert_int_equal(
            windows_switch(&windows, false, LOG_SWITCH_TIME, i * 100 + 60, &numbers, NULL), 0);
    }
    assert_int_equal(windows_finish(&windows, &numbers, NULL), 0);
    for (uint64_t id = 1; id <= blocks; id++)
        windows_leaked(&windows, id, 1, 7);
    assert_int_equal(windows.n, MOST);
    assert_int_equal(windows.n_left_out, N - MOST);
    check(&windows.list[MOST - 2], 4, 6, 3);
    check(&windows.list[MOST - 1], 7, blocks, blocks - 6);
    assert_int_equal(windows.list[MOST - 1].leaked_blocks, blocks - 6);
    assert_int_equal(windows.list[MOST - 1].start_ns, MOST * 100);
    assert_int_equal(windows.list[MOST - 1].end_ns, N * 100 + 60);
    assert_int_equal(windows.list[MOST - 1].paused_ns, (N - MOST) * 40);
    assert_false(windows_is_open(&windows));
    windows_done(&windows);
}
