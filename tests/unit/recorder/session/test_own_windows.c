/* SPDX-License-Identifier: MIT */
#include "recorder/session/own_windows.h"
#include "tests/lib/unit.h"

enum {
    NOTHING = -1
};

/* The due action at `now`, of a process that began at 100; NOTHING, or the command and the reason ×
 * 16. */
static int step(struct own_windows *windows, uint64_t now, uint64_t rss, bool is_open)
{
    const struct own_windows_sight sight = {
        .now_ns = now, .begun_ns = 100, .rss_bytes = rss, .is_open = is_open};
    enum log_command command;
    enum log_switch reason;

    if (!own_windows_step(windows, &sight, &command, &reason))
        return NOTHING;
    return (int)command + 16 * (int)reason;
}

TEST(it_is_not_begun_again_after_another_begin)
{
    struct own_windows windows = {.start_after_ns = 50};

    assert_int_equal(step(&windows, 110, 0, true), NOTHING);
    assert_int_equal(step(&windows, 160, 0, true), NOTHING);
    assert_int_equal(step(&windows, 170, 0, false), NOTHING);
}

TEST(a_window_has_its_whole_time_though_another_ended_unseen)
{
    struct own_windows windows = {.stop_after_ns = 30};
    struct own_windows_sight sight = {.now_ns = 110, .begun_ns = 100, .is_open = true, .window = 1};
    enum log_command command;
    enum log_switch reason;

    assert_false(own_windows_step(&windows, &sight, &command, &reason));
    sight.now_ns = 130;
    sight.window = 2;
    assert_false(own_windows_step(&windows, &sight, &command, &reason));
    sight.now_ns = 141;
    assert_false(own_windows_step(&windows, &sight, &command, &reason));
    sight.now_ns = 160;
    assert_true(own_windows_step(&windows, &sight, &command, &reason));
}

TEST(a_window_that_goes_on_over_an_exec_is_one)
{
    struct own_windows windows = {.stop_after_ns = 30};
    struct own_windows_sight sight = {.now_ns = 110, .begun_ns = 100, .is_open = true, .window = 3};
    enum log_command command;
    enum log_switch reason;

    assert_false(own_windows_step(&windows, &sight, &command, &reason));
    sight =
        (struct own_windows_sight){.now_ns = 141, .begun_ns = 130, .is_open = true, .window = 1};
    assert_true(own_windows_step(&windows, &sight, &command, &reason));
}
