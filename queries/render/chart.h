/* SPDX-License-Identifier: MIT */
/*
 * chart: figures over time or over classes as SVG: areas or bars on top of each other, or lines.
 *
 * Model: all series have one value for each step along the x axis; axes have round figures of the unit of y. Below
 *        stands the legend, a line for each series with its colour. The colours keep apart for eyes that do not tell
 *        red from green, on light and on dark ground: the picture follows the page's prefers-color-scheme.
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
    const char *name;      /* copied nowhere */
    const int64_t *values; /* n_steps of them */
    bool is_rest;          /* grey */
};

struct chart {
    const char *title, *subtitle;
    enum chart_form form;
    enum chart_unit unit;
    size_t n_steps;
    int64_t from_ns, to_ns;    /* of the x axis when steps have no labels */
    const char *const *labels; /* of the steps; NULL: it is time */
    struct chart_series series[CHART_MAX_SERIES];
    size_t n_series;
    const int64_t *outline; /* drawn as a line over areas; NULL: none */
    const char *outline_name;
};

/* A whole file. */
void chart_draw(const struct chart *chart, FILE *out);

/* The same inside of a page of HTML, which has the rules of chart_put_style among its own. */
void chart_put_style(FILE *out);
void chart_draw_inline(const struct chart *chart, FILE *out);

#endif
