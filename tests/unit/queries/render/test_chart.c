/* SPDX-License-Identifier: MIT */
/* The axes of a chart have round numbers, and the highest value is below the last line. */
#include "queries/render/chart.h"
#include "tests/lib/unit.h"

#include <string.h>

/* The texts of all elements that are anchored, which are those of the axes: "0 B|500 B|". */
static char *axes_of(const struct chart *chart)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    char *axes = calloc(1, 1024);

    assert_non_null(out);
    assert_non_null(axes);
    chart_draw(chart, out);
    assert_int_equal(fclose(out), 0);
    for (char *at = strstr(text, "text-anchor"); at; at = strstr(at + 1, "text-anchor")) {
        char *from = strchr(at, '>') + 1;

        (void)strncat(axes, from, strcspn(from, "<"));
        (void)strcat(axes, "|");
    }
    free(text);
    return axes;
}

static void assert_axes(enum chart_unit unit, int64_t highest, int64_t from_ns, int64_t to_ns,
                        const char *expected)
{
    const int64_t values[] = {0, highest};
    const struct chart chart = {.title = "t",
                                .form = CHART_AREAS,
                                .unit = unit,
                                .n_steps = 2,
                                .from_ns = from_ns,
                                .to_ns = to_ns,
                                .series = {{"s", values, false}},
                                .n_series = 1};
    char *axes = axes_of(&chart);

    assert_string_equal(axes, expected);
    free(axes);
}

TEST(numbers_are_round)
{
    assert_axes(
        CHART_BYTES, 10380902, 0, 337600000,
        "0 B|2.0 MiB|4.0 MiB|6.0 MiB|8.0 MiB|10.0 MiB|0 s|50.0 ms|100 ms|150 ms|200 ms|250 ms|300 ms|");
    assert_axes(CHART_BYTES, 1500000, 1234567890, 9100000000,
                "0 B|512 KiB|1.0 MiB|1.5 MiB|2.0 s|3.0 s|4.0 s|5.0 s|6.0 s|7.0 s|8.0 s|9.0 s|");
    assert_axes(CHART_BLOCKS, 12904, 0, 300000000000,
                "0|5,000|10,000|15,000|0 s|1m00s|2m00s|3m00s|4m00s|5m00s|");
}

TEST(short_and_flat_ones_have_axes)
{
    assert_axes(CHART_BLOCKS, 0, 5, 5, "0|1|");
    assert_axes(CHART_BYTES, INT64_MAX, 0, 3,
                "0 B|2.0 EiB|4.0 EiB|6.0 EiB|8.0 EiB|0 s|1 ns|2 ns|3 ns|");
}
