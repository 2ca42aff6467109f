/* SPDX-License-Identifier: MIT */
/*
 * chart: numbers over time or over classes as SVG: stacked areas, stacked bars, or lines.
 *
 * All series have one value per step of the x axis. Axes have round numbers in the unit of y. The
 * legend below has one line per series. The colours suit colour-blind readers on light and dark
 * backgrounds; the picture follows prefers-color-scheme.
 */
#ifndef MTRACE_QUERIES_CHART_H
#define MTRACE_QUERIES_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CHART_MAX_SERIES = 24
};

enum chart_form {
    CHART_AREAS, /* stacked */
    CHART_BARS,  /* stacked */
    CHART_LINES,
};

enum chart_unit {
    CHART_BYTES,
    CHART_BLOCKS,
};

struct chart_series {
    const char *name;      /* not copied */
    const int64_t *values; /* n_steps of them */
    bool is_rest;          /* grey */
};

struct chart {
    const char *title, *subtitle;
    enum chart_form form;
    enum chart_unit unit;
    size_t n_steps;
    int64_t from_ns, to_ns;    /* of the x axis if steps have no labels */
    const char *const *labels; /* of the steps; NULL: the x axis is time */
    struct chart_series series[CHART_MAX_SERIES];
    size_t n_series;
    const int64_t *outline; /* drawn as a line over areas; NULL: none */
    const char *outline_name;
};

/* Writes a whole file. */
void chart_draw(const struct chart *chart, FILE *out);

/* The same inside an HTML page that includes the rules of chart_put_style. */
void chart_put_style(FILE *out);
void chart_draw_inline(const struct chart *chart, FILE *out);

#endif
