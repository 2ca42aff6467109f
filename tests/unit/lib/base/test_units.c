/* SPDX-License-Identifier: MIT */
/* Sizes, times and shares: the text that people read, and accepted input. */
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "tests/lib/unit.h"

TEST(bytes_are_short_and_binary)
{
    char text[UNITS_TEXT_BYTES];

    assert_string_equal(units_format_bytes(0, text), "0 B");
    assert_string_equal(units_format_bytes(1023, text), "1023 B");
    assert_string_equal(units_format_bytes(1024, text), "1.0 KiB");
    assert_string_equal(units_format_bytes(39007027, text), "37.2 MiB");
    assert_string_equal(units_format_bytes(1048575, text), "1.0 MiB");
    assert_string_equal(units_format_bytes(500 * 1024, text), "500 KiB");
    assert_string_equal(units_format_bytes(-2048, text), "-2.0 KiB");
    assert_string_equal(units_format_bytes(INT64_MAX, text), "8.0 EiB");
    assert_string_equal(units_format_bytes(INT64_MIN, text), "-8.0 EiB");
}

TEST(rates_are_per_second_or_per_hour)
{
    char text[UNITS_TEXT_BYTES];

    assert_string_equal(units_format_rate(2e6, text), "1.9 MiB/s");
    assert_string_equal(units_format_rate(8.75, text), "8 B/s");
    assert_string_equal(units_format_rate(0.5, text), "1.8 KiB/h");
    assert_string_equal(units_format_rate(0, text), "0 B/s");
    assert_string_equal(units_format_rate(-1, text), "0 B/s");
    assert_string_equal(units_format_rate(1e300, text), "8.0 EiB/s");
}

TEST(durations_choose_their_unit)
{
    char text[UNITS_TEXT_BYTES];

    assert_string_equal(units_format_duration(0, text), "0 s");
    assert_string_equal(units_format_duration(999, text), "999 ns");
    assert_string_equal(units_format_duration(15000, text), "15.0 us");
    assert_string_equal(units_format_duration(200000000, text), "200 ms");
    assert_string_equal(units_format_duration(999999999, text), "1.0 s");
    assert_string_equal(units_format_duration(INT64_C(59990000000), text), "1m00s");
    assert_string_equal(units_format_duration(INT64_C(252000000000), text), "4m12s");
    assert_string_equal(units_format_duration(INT64_C(7384000000000), text), "2h03m04s");
    assert_string_equal(units_format_duration(INT64_C(270000000000000), text), "3d03h00m");
}

TEST(shares_never_round_to_all_or_nothing)
{
    char text[UNITS_TEXT_BYTES];

    assert_string_equal(units_format_share(0, text), "0.0 %");
    assert_string_equal(units_format_share(0.0004, text), "<0.1 %");
    assert_string_equal(units_format_share(0.98, text), "98 %");
    assert_string_equal(units_format_share(0.998, text), "99.8 %");
    assert_string_equal(units_format_share(0.99999, text), "99.9 %");
    assert_string_equal(units_format_share(1, text), "100 %");
}

static void assert_bytes(const char *text, uint64_t expected)
{
    uint64_t value = 0;

    assert_int_equal(units_parse_bytes(text, &value, NULL), 0);
    assert_int_equal(value, expected);
}

TEST(sizes_are_parsed)
{
    assert_bytes("0", 0);
    assert_bytes("12", 12);
    assert_bytes("12B", 12);
    assert_bytes("1.5 KiB", 1536);
    assert_bytes("2M", 2097152);
    assert_bytes("2MB", 2000000);
    assert_bytes("1kB", 1000);
    assert_bytes("9223372036854775807", INT64_MAX);
}

TEST(bad_sizes_are_refused)
{
    static const char *const bad[] = {
        "", "-1", "KiB", "12 bytes", "1e3", "0x10", "12 K x", "9223372036854775808", "9000000TiB"};
    uint64_t value = 4711;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err;
        assert_int_equal(units_parse_bytes(bad[i], &value, &err), ERROR_USAGE);
        assert_int_equal(err.code, ERROR_USAGE);
    }
    assert_int_equal(value, 4711);
}

TEST(bad_times_are_refused)
{
    static const char *const bad[] = {"", "s", "4x", "4m12", "-1s", "1s-", "99999999999d"};
    uint64_t value;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(units_parse_duration(bad[i], &value, NULL), ERROR_USAGE);
}

TEST(percentages_and_counts_are_parsed)
{
    double share = 0;
    uint64_t count = 0;

    assert_int_equal(units_parse_percent("12.5%", &share, NULL), 0);
    assert_true(share == 0.125);
    assert_int_equal(units_parse_percent("100 %", &share, NULL), 0);
    assert_true(share == 1);
    assert_int_equal(units_parse_percent("100.1%", &share, NULL), ERROR_USAGE);
    assert_int_equal(units_parse_percent("12", &share, NULL), ERROR_USAGE);
    assert_int_equal(units_parse_count("20", &count, NULL), 0);
    assert_int_equal(count, 20);
    assert_int_equal(units_parse_count("2.0", &count, NULL), ERROR_USAGE);
    assert_int_equal(units_parse_count("20x", &count, NULL), ERROR_USAGE);
}
