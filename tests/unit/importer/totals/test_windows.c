/* SPDX-License-Identifier: MIT */
#include "importer/totals/windows.h"
#include "tests/lib/unit.h"

static const struct window_numbers began_on = {.start_ns = 10, .began_on = true};

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

TEST(a_process_recorded_all_the_time_has_one)
{
    struct windows windows = {0};
    struct window_numbers end = numbers_of(7, 9);
    struct error err;

    end.began_on = true;
    assert_int_equal(windows_finish(&windows, &end, &err), 0);
    assert_int_equal(windows.n, 1);
    assert_true(windows.list[0].is_open);
    assert_int_equal(windows.list[0].start_ns, 10);
    assert_int_equal(windows.list[0].started_by, WINDOWS_BY_PROCESS);
    check(&windows.list[0], 1, 9, 7);
    windows_done(&windows);
}

/* Other processes have ids 4 to 6. Events that two threads still write at 8 and 9 belong to the
 * ended window. */
TEST(blocks_are_of_the_window_that_began_last)
{
    struct windows windows = {0};
    struct window_numbers numbers;
    struct error err;

    numbers = numbers_of(0, 0);
    assert_int_equal(windows_switch(&windows, true, LOG_SWITCH_CONTROL, 20, &numbers, &err), 0);
    numbers = numbers_of(4, 7);
    assert_int_equal(windows_switch(&windows, false, LOG_SWITCH_TIME, 30, &numbers, &err), 0);
    numbers = numbers_of(6, 9);
    assert_int_equal(windows_switch(&windows, true, LOG_SWITCH_SIGNAL, 40, &numbers, &err), 0);
    numbers = numbers_of(7, 10);
    assert_int_equal(windows_finish(&windows, &numbers, &err), 0);
    assert_int_equal(windows.n, 2);
    check(&windows.list[0], 1, 9, 6);
    check(&windows.list[1], 10, 10, 1);
    assert_int_equal(windows.list[0].end_ns, 30);
    assert_int_equal(windows.list[0].ended_by, LOG_SWITCH_TIME);
    assert_true(windows.list[1].is_open);
    for (uint64_t id = 8; id <= 10; id++)
        windows_leaked(&windows, id, 1, 5);
    assert_int_equal(windows.list[0].leaked_blocks, 2);
    assert_int_equal(windows.list[1].leaked_bytes, 5);
    windows_done(&windows);
}

TEST(what_was_on_is_ended_and_begun_again)
{
    struct windows windows = {0};
    struct window_numbers numbers = began_on;
    struct error err;

    assert_int_equal(windows_switch(&windows, true, LOG_SWITCH_CONTROL, 15, &numbers, &err), 0);
    assert_int_equal(windows_switch(&windows, false, LOG_SWITCH_CONTROL, 20, &numbers, &err), 0);
    assert_int_equal(windows_switch(&windows, false, LOG_SWITCH_CONTROL, 25, &numbers, &err), 0);
    assert_int_equal(windows_finish(&windows, &numbers, &err), 0);
    assert_int_equal(windows.n, 1);
    assert_int_equal(windows.list[0].start_ns, 10);
    assert_int_equal(windows.list[0].end_ns, 20);
    windows_done(&windows);
}

/* WN-2 */
TEST(without_a_beginning_there_is_one_if_there_are_blocks)
{
    struct windows windows = {0};
    struct window_numbers numbers = numbers_of(0, 0);
    struct error err;

    windows_leaked(&windows, 1, 1, 1);
    assert_int_equal(windows_switch(&windows, false, LOG_SWITCH_CONTROL, 15, &numbers, &err), 0);
    assert_int_equal(windows.n, 0);
    numbers = numbers_of(2, 2);
    assert_int_equal(windows_finish(&windows, &numbers, &err), 0);
    assert_int_equal(windows.n, 1);
    assert_int_equal(windows.list[0].started_by, LOG_SWITCH_UNKNOWN);
    check(&windows.list[0], 1, 2, 2);
    windows_done(&windows);
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
