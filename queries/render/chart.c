/* SPDX-License-Identifier: MIT */
#include "queries/render/chart.h"

#include "lib/base/units.h"
#include "queries/render/svg.h"

enum {
    WIDTH = 1000,
    LEFT = 86,
    RIGHT = 16,
    TOP = 56,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    PLOT_HEIGHT = 300,
    BELOW = 46, /* the x axis and its numbers */
    LEGEND_HEIGHT = 18,
    N_LINES = 5, /* of the grid, at most */
    N_TIMES = 8, /* below it, at most */
    N_COLOURS = 12
};

static const char style[] =
    ".mchart{color-scheme:light dark;font:12px sans-serif}.mchart .paper{fill:#fcfcfc}.mchart text{fill:#333}"
    ".mchart .head{font-size:15px;font-weight:bold;fill:#111}.mchart .grid{stroke:#ddd}.mchart .axis{stroke:#888}"
    ".mchart .outline{fill:none;stroke:#111;stroke-width:1}.mchart .line{fill:none;stroke-width:1.8}"
    "@media(prefers-color-scheme:dark){.mchart .paper{fill:#16181c}.mchart text{fill:#ccc}.mchart .head{fill:#eee}"
    ".mchart .grid{stroke:#333}.mchart .axis{stroke:#777}.mchart .outline{stroke:#eee}}\n";

/* Okabe and Ito's, then paler ones. */
static const char *const colours[N_COLOURS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                               "#56b4e9", "#d55e00", "#f0e442", "#7f7fbf",
                                               "#8c6d31", "#5ab4ac", "#c49ac9", "#a6761d"};
static const char rest_colour[] = "#9aa0a6";

struct plot {
    const struct chart *chart;
    FILE *out;
    double step;    /* from one line of the grid to the next */
    double highest; /* of the grid: a multiple of it */
};

static const char *colour_of(const struct chart *chart, size_t series)
{
    return chart->series[series].is_rest ? rest_colour : colours[series % N_COLOURS];
}

static double x_of(const struct plot *plot, size_t step)
{
    return LEFT + (double)PLOT_WIDTH * (double)step / (double)plot->chart->n_steps;
}

static double y_of(const struct plot *plot, double value)
{
    return TOP + PLOT_HEIGHT * (1 - value / plot->highest);
}

/* The sum of the first n series at a step. */
static double stacked(const struct chart *chart, size_t n, size_t step)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)chart->series[i].values[step];
    return sum;
}

static double highest_of(const struct chart *chart)
{
    double highest = 1;

    for (size_t step = 0; step < chart->n_steps; step++) {
        double top = chart->form == CHART_LINES ? 0 : stacked(chart, chart->n_series, step);

        for (size_t i = 0; chart->form == CHART_LINES && i < chart->n_series; i++)
            top = (double)chart->series[i].values[step] > top
                      ? (double)chart->series[i].values[step]
                      : top;
        if (chart->outline && (double)chart->outline[step] > top)
            top = (double)chart->outline[step];
        highest = top > highest ? top : highest;
    }
    return highest;
}

/* In a damaged file sums may exceed any integer. */
static int64_t clipped(double value)
{
    return value >= 9.2e18 ? INT64_MAX : (int64_t)value;
}

/* The least multiple of step that is at least value, which is not negative. */
static double multiple_up(double value, double step)
{
    double multiple = step * (double)clipped(value / step);

    return multiple < value ? multiple + step : multiple;
}

/* The least round number that is at least so much: 1, 2 or 5 times a power of ten. */
static double round_up(double least)
{
    static const double rounds[] = {1, 2, 5};
    double power = 1;

    for (;; power *= 10) {
        for (size_t i = 0; i < 3; i++) {
            if (rounds[i] * power >= least)
                return rounds[i] * power;
        }
    }
}

/* Round in the unit that each of its first N_LINES multiples is printed in. */
static double byte_step(double least)
{
    static const double rounds[] = {1, 2, 5, 10, 20, 50, 100, 200, 512};
    double unit = 1;

    for (;; unit *= 1024) {
        for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
            if (rounds[i] * unit >= least)
                return rounds[i] * unit;
        }
    }
}

static double time_step(double least)
{
    static const double seconds[] = {10,   15,   20,   30,    60,    120,   300,  600,
                                     1200, 1800, 3600, 10800, 21600, 43200, 86400};

    if (least <= 5e9)
        return round_up(least);
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        if (seconds[i] * 1e9 >= least)
            return seconds[i] * 1e9;
    }
    return 86400e9 * round_up(least / 86400e9);
}

static struct plot plot_of(const struct chart *chart, FILE *out)
{
    double highest = highest_of(chart);
    double least = highest / N_LINES;
    double step = chart->unit == CHART_BYTES ? byte_step(least) : round_up(least);

    return (struct plot){chart, out, step, multiple_up(highest, step)};
}

/* ---- pieces ---- */

static void put_tip(const struct plot *plot, size_t series)
{
    (void)fputs("<title>", plot->out);
    svg_put_text(plot->out, plot->chart->series[series].name);
    (void)fputs("</title>", plot->out);
}

/* Values are constant within a step: only changes need points. */
static void put_edge(const struct plot *plot, size_t n_series, bool is_backwards)
{
    const size_t n = plot->chart->n_steps;
    double last = -1;

    for (size_t i = 0; i < n; i++) {
        size_t step = is_backwards ? n - 1 - i : i;
        double x = x_of(plot, step + is_backwards);
        double y = y_of(plot, stacked(plot->chart, n_series, step));

        if (i > 0 && y == last)
            continue;
        if (i > 0)
            (void)fprintf(plot->out, "%.1f,%.1f ", x, last);
        (void)fprintf(plot->out, "%.1f,%.1f ", x, y);
        last = y;
    }
    (void)fprintf(plot->out, "%.1f,%.1f ", x_of(plot, is_backwards ? 0 : n), last);
}

static void put_areas(const struct plot *plot)
{
    for (size_t i = 0; i < plot->chart->n_series; i++) {
        (void)fprintf(plot->out, "<polygon fill=\"%s\" points=\"", colour_of(plot->chart, i));
        put_edge(plot, i + 1, false);
        put_edge(plot, i, true);
        (void)fputs("\">", plot->out);
        put_tip(plot, i);
        (void)fputs("</polygon>\n", plot->out);
    }
}

static void put_bar_tip(const struct plot *plot, size_t series, size_t step)
{
    const struct chart *chart = plot->chart;
    char value[UNITS_TEXT_BYTES];

    (void)fputs("<title>", plot->out);
    if (chart->labels) {
        svg_put_text(plot->out, chart->labels[step]);
        (void)fputs(": ", plot->out);
    }
    if (chart->unit == CHART_BYTES)
        (void)units_format_bytes(chart->series[series].values[step], value);
    else
        (void)units_format_count(chart->series[series].values[step], value);
    svg_put_text(plot->out, value);
    (void)putc(' ', plot->out);
    svg_put_text(plot->out, chart->series[series].name);
    (void)fputs("</title>", plot->out);
}

static void put_bars(const struct plot *plot)
{
    const struct chart *chart = plot->chart;
    double width = (double)PLOT_WIDTH / (double)chart->n_steps;
    double gap = chart->labels ? width * 0.15 : 0;

    for (size_t i = 0; i < chart->n_series; i++) {
        (void)fprintf(plot->out, "<g fill=\"%s\">", colour_of(chart, i));
        for (size_t step = 0; step < chart->n_steps; step++) {
            double low = y_of(plot, stacked(chart, i, step));
            double high = y_of(plot, stacked(chart, i + 1, step));

            if (chart->series[i].values[step] <= 0)
                continue;
            (void)fprintf(plot->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                          x_of(plot, step) + gap / 2, high, width - gap,
                          low - high < 0.5 ? 0.5 : low - high);
            put_bar_tip(plot, i, step);
            (void)fputs("</rect>", plot->out);
        }
        (void)fputs("</g>\n", plot->out);
    }
}

static void put_line(const struct plot *plot, const int64_t *values, const char *style_of)
{
    (void)fprintf(plot->out, "<polyline %s points=\"", style_of);
    for (size_t step = 0; step < plot->chart->n_steps; step++)
        (void)fprintf(plot->out, "%.1f,%.1f %.1f,%.1f ", x_of(plot, step),
                      y_of(plot, (double)values[step]), x_of(plot, step + 1),
                      y_of(plot, (double)values[step]));
    (void)fputs("\">", plot->out);
}

static void put_lines(const struct plot *plot)
{
    for (size_t i = 0; i < plot->chart->n_series; i++) {
        char look[64];

        (void)snprintf(look, sizeof(look), "class=\"line\" stroke=\"%s\"",
                       colour_of(plot->chart, i));
        put_line(plot, plot->chart->series[i].values, look);
        put_tip(plot, i);
        (void)fputs("</polyline>\n", plot->out);
    }
}

/* ---- around them ---- */

static void put_grid(const struct plot *plot)
{
    char text[UNITS_TEXT_BYTES];

    for (int i = 0; i <= N_LINES && i * plot->step <= plot->highest; i++) {
        double value = i * plot->step;
        double y = y_of(plot, value);

        if (plot->chart->unit == CHART_BYTES)
            (void)units_format_bytes(clipped(value), text);
        else
            (void)units_format_count(clipped(value), text);
        (void)fprintf(plot->out,
                      "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                      "<text text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
                      i ? "grid" : "axis", LEFT, LEFT + PLOT_WIDTH, y, y, LEFT - 8, y + 4, text);
    }
}

/* Draws a tick at each round time between both ends. */
static void put_times(const struct plot *plot)
{
    const struct chart *chart = plot->chart;
    const double from = (double)chart->from_ns;
    const double length = (double)chart->to_ns - from;
    const double step = time_step(length / N_TIMES);
    const double first = multiple_up(from, step);
    char text[UNITS_TEXT_BYTES];

    for (int i = 0; i <= N_TIMES; i++) {
        double at = first + i * step;
        double x = LEFT + (double)PLOT_WIDTH * (at - from) / length;

        if (length <= 0 || at > from + length)
            return;
        (void)fprintf(plot->out,
                      "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                      "<text text-anchor=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>\n",
                      x, x, TOP + PLOT_HEIGHT, TOP + PLOT_HEIGHT + 4,
                      x > LEFT + PLOT_WIDTH - 30 ? "end" : "middle", x, TOP + PLOT_HEIGHT + 18,
                      units_format_duration(clipped(at), text));
    }
}

/* As many as fit. */
static void put_labels(const struct plot *plot)
{
    const size_t room = 14;
    size_t every = (plot->chart->n_steps + room - 1) / room;

    for (size_t step = 0; step < plot->chart->n_steps; step += every) {
        (void)fprintf(plot->out, "<text x=\"%.1f\" y=\"%d\">", x_of(plot, step) + 1,
                      TOP + PLOT_HEIGHT + 18);
        svg_put_text(plot->out, plot->chart->labels[step]);
        (void)fputs("</text>\n", plot->out);
    }
}

static void put_legend(const struct plot *plot)
{
    const struct chart *chart = plot->chart;
    int y = TOP + PLOT_HEIGHT + BELOW;

    for (size_t i = 0; i < chart->n_series; i++, y += LEGEND_HEIGHT) {
        (void)fprintf(
            plot->out,
            "<rect x=\"%d\" y=\"%d\" width=\"11\" height=\"11\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">",
            LEFT, y - 10, colour_of(chart, i), LEFT + 18, y);
        svg_put_text(plot->out, chart->series[i].name);
        (void)fputs("</text>\n", plot->out);
    }
    if (!chart->outline)
        return;
    (void)fprintf(
        plot->out,
        "<line class=\"outline\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/><text x=\"%d\" y=\"%d\">",
        LEFT, LEFT + 11, y - 4, y - 4, LEFT + 18, y);
    svg_put_text(plot->out, chart->outline_name);
    (void)fputs("</text>\n", plot->out);
}

static int height_of(const struct chart *chart)
{
    return TOP + PLOT_HEIGHT + BELOW
           + LEGEND_HEIGHT * (int)(chart->n_series + (chart->outline ? 1 : 0));
}

static void put_all(const struct chart *chart, FILE *out)
{
    const struct plot plot = plot_of(chart, out);

    (void)fprintf(
        out,
        "<g class=\"mchart\"><rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n<text class=\"head\" x=\"%d\" y=\"22\">",
        WIDTH, height_of(chart), LEFT);
    svg_put_text(out, chart->title);
    (void)fprintf(out, "</text>\n<text x=\"%d\" y=\"42\">", LEFT);
    svg_put_text(out, chart->subtitle ? chart->subtitle : "");
    (void)fputs("</text>\n", out);
    put_grid(&plot);
    if (chart->form == CHART_AREAS)
        put_areas(&plot);
    else if (chart->form == CHART_BARS)
        put_bars(&plot);
    else
        put_lines(&plot);
    if (chart->outline) {
        put_line(&plot, chart->outline, "class=\"outline\"");
        (void)fputs("</polyline>\n", out);
    }
    if (chart->labels)
        put_labels(&plot);
    else
        put_times(&plot);
    put_legend(&plot);
    (void)fputs("</g>\n", out);
}

void chart_draw(const struct chart *chart, FILE *out)
{
    svg_begin(out, WIDTH, height_of(chart), chart->title);
    (void)fprintf(out, "<style>%s</style>\n", style);
    put_all(chart, out);
    svg_end(out);
}

void chart_put_style(FILE *out)
{
    (void)fputs(style, out);
}

void chart_draw_inline(const struct chart *chart, FILE *out)
{
    (void)fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, height_of(chart));
    put_all(chart, out);
    (void)fputs("</svg>\n", out);
}
