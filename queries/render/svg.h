/* SPDX-License-Identifier: MIT */
/*
 * svg: writes SVG pictures.
 *
 * A picture is one file with its style and script inside. Text from recordings is escaped and
 * characters that XML forbids become "?", so that no name can run as a script.
 */
#ifndef MTRACE_QUERIES_SVG_H
#define MTRACE_QUERIES_SVG_H

#include "lib/sqlite/embedded_sql.h"

#include <stdint.h>
#include <stdio.h>

struct error;
struct render_style;

/* Scripts and styles of queries/pictures/, by file name without suffix. */
extern const struct embedded_sql embedded_pictures[];

/* ERROR_USAGE if the picture would go to a terminal. */
int svg_check_output(const struct render_style *style, struct error *err);

/* Writes everything up to the style; width and height in pixels. */
void svg_begin(FILE *out, int width, int height, const char *title);
void svg_end(FILE *out);

void svg_put_text(FILE *out, const char *text);

/* Writes an embedded script or style, which must exist. */
void svg_put_script(FILE *out, const char *name);

/* "#rrggbb" of hue 0..1, saturation and lightness 0..1. */
void svg_put_colour(FILE *out, double hue, double saturation, double lightness);

#endif
