/* SPDX-License-Identifier: MIT */
/* Settings from the environment and from the recorder, and which of them win. */
#include "collector/os/config.h"
#include "tests/lib/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct config read_config(const char *const *environment)
{
    static struct config config;

    memset(&config, 0xff, sizeof(config));
    config_read(environment, &config);
    return config;
}

TEST(nothing_set_means_defaults)
{
    const char *environment[] = {"PATH=/bin", NULL};
    struct config config = read_config(environment);

    assert_string_equal(config.output, "mtrace_%e_%t_%p.dat");
    assert_string_equal(config.pool, "");
    assert_int_equal(config.unwinder, CONFIG_UNWINDER_FAST);
    assert_int_equal(config.level, CONFIG_LEVEL_SILENT);
    assert_true(config.max_live_bytes == (uint64_t)4 << 30);
    assert_int_equal(config.max_depth, 0);
    assert_true(config.has_free_backtraces && config.gathers_mmaps && config.may_use_tsc);
    assert_false(config.follows_children || config.is_disabled_by_default || config.zeroes_memory);
    assert_int_equal(config.toggle_signal, 0);
    assert_null(config.bad_variable);
}

TEST(the_clock_can_be_chosen)
{
    const char *monotonic[] = {"MTRACE_CLOCK=monotonic", NULL};
    const char *senseless[] = {"MTRACE_CLOCK=sundial", NULL};

    assert_false(read_config(monotonic).may_use_tsc);
    assert_true(read_config(senseless).may_use_tsc);
    assert_string_equal(read_config(senseless).bad_variable, "MTRACE_CLOCK");
}

TEST(no_environment_is_an_empty_one)
{
    assert_string_equal(read_config(NULL).output, "mtrace_%e_%t_%p.dat");
}

TEST(the_recorder_wins)
{
    const char *environment[] = {
        "MTRACE_OUTPUT=mine.dat", "MTRACE_UNWINDER=none",
        "MTRACE_RECORDER=MTRACE_OUTPUT=/a b/run.dat\x1fMTRACE_POOL=/a b/run.dat.live\x1f"
        "MTRACE_RECORDER_PID=12\x1fMTRACE_TARGET_PID=13",
        NULL};
    struct config config = read_config(environment);

    assert_string_equal(config.output, "/a b/run.dat");
    assert_string_equal(config.pool, "/a b/run.dat.live");
    assert_int_equal(config.recorder_pid, 12);
    assert_int_equal(config.target_pid, 13);
    assert_int_equal(config.unwinder, CONFIG_UNWINDER_NONE);
}

TEST(sizes_have_units)
{
    static const struct {
        const char *variable;
        uint64_t bytes;
    } cases[] = {
        {"MTRACE_MAX_LIVE=4096", 4096},        {"MTRACE_MAX_LIVE=64K", 65536},
        {"MTRACE_MAX_LIVE=64KiB", 65536},      {"MTRACE_MAX_LIVE=3MB", 3145728},
        {"MTRACE_MAX_LIVE=1GiB", 1073741824u}, {"MTRACE_MAX_LIVE=0", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *environment[] = {cases[i].variable, NULL};
        struct config config = read_config(environment);
        assert_null(config.bad_variable);
        assert_true(config.max_live_bytes == cases[i].bytes);
    }
}

TEST(senseless_values_leave_the_default_and_are_named)
{
    static const char *const cases[] = {
        "MTRACE_MAX_LIVE=4 G", "MTRACE_MAX_LIVE=-1", "MTRACE_MAX_LIVE=1GX",
        "MTRACE_MAX_LIVE=99999999999999999999", "MTRACE_MAX_LIVE=99999999999T"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *environment[] = {cases[i], NULL};
        struct config config = read_config(environment);
        assert_string_equal(config.bad_variable, "MTRACE_MAX_LIVE");
        assert_true(config.max_live_bytes == (uint64_t)4 << 30);
    }
    const char *environment[] = {"MTRACE_UNWINDER=quick", NULL};
    assert_string_equal(read_config(environment).bad_variable, "MTRACE_UNWINDER");
}

TEST(only_a_recorder_begins_without_a_window)
{
    const char *bare[] = {"MTRACE_WINDOW_CLOSED=1", NULL};
    const char *recorded[] = {"MTRACE_WINDOW_CLOSED=1", "MTRACE_RECORDER_PID=12", NULL};
    struct config config;

    config_read(bare, &config);
    assert_false(config.is_disabled_by_default);
    config_read(recorded, &config);
    assert_true(config.is_disabled_by_default);
}

TEST(a_program_started_off_can_be_switched_on)
{
    const char *environment[] = {"MTRACE_DISABLE_BY_DEFAULT=1", NULL};
    const char *other[] = {"MTRACE_DISABLE_BY_DEFAULT=1", "MTRACE_SIGNAL_TOGGLE=SIGUSR2", NULL};

    assert_int_equal(read_config(environment).toggle_signal, SIGUSR1);
    assert_int_equal(read_config(other).toggle_signal, SIGUSR2);
}

TEST(names_are_not_prefixes)
{
    const char *environment[] = {"MTRACE_OUTPUT_OLD=x", "MTRACE_OUTPUT", "MTRACE_OUTPUT=y", NULL};

    assert_string_equal(config_find(environment, "MTRACE_OUTPUT"), "y");
    assert_null(config_find(environment, "MTRACE_OUTPU"));
}

TEST(ancestors_are_read)
{
    const char *environment[] = {"MTRACE_PARENT=00000000000000000042:0000000007:1:/tmp/a:b.dat",
                                 NULL};
    struct config config = read_config(environment);

    assert_true(config.ancestor_run_id == 42);
    assert_int_equal(config.ancestor_pid, 7);
    assert_true(config.is_ancestor_tracing);
    assert_string_equal(config.ancestor, "/tmp/a:b.dat");
}

TEST(patterns_are_expanded)
{
    char text[256] = "";
    char expected[256];
    struct fmt out = FMT_BUFFER(text);

    config_expand("%e/%p-%n-%%-%x-%", 3, &out);
    snprintf(expected, sizeof(expected), "test_config/%d-3-%%-%%x-%%", (int)getpid());
    assert_string_equal(text, expected);
    assert_true(config_is_numbered("a%n"));
    assert_false(config_is_numbered("a%%n"));
}

TEST(texts_are_cut_at_their_room)
{
    char text[4] = "";
    struct fmt out = FMT_BUFFER(text);

    fmt_decimal(&out, 12);
    assert_false(out.is_cut);
    fmt_hex(&out, 0xabc);
    assert_true(out.is_cut);
    assert_string_equal(text, "12a");
}
