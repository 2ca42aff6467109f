/* SPDX-License-Identifier: MIT */
/*
 * svg: the few pieces that our pictures are made of.
 *
 * Model: a picture is one file that needs no other: style and script are inside. Text from
 *        recordings is escaped, and what XML does not allow becomes "?", so that no name can break
 *        a picture or run as script.
 */
#ifndef MTRACE_QUERIES_SVG_H
#define MTRACE_QUERIES_SVG_H

#include "lib/sqlite/embedded_sql.h"

#include <stdint.h>
#include <stdio.h>

struct error;
struct render_style;

/* Scripts and styles of queries/pictures/, by file name without its suffix; made by the build. */
extern const struct embedded_sql embedded_pictures[];

/* Fails with ERROR_USAGE when the picture would go to a terminal. */
int svg_check_output(const struct render_style *style, struct error *err);

/* The first line to the style; height in pixels. */
void svg_begin(FILE *out, int width, int height, const char *title);
void svg_end(FILE *out);

void svg_put_text(FILE *out, const char *text);

/* Copies an embedded script or style, which must exist. */
void svg_put_script(FILE *out, const char *name);

/* "#rrggbb" of hue 0..1, saturation and lightness 0..1. */
void svg_put_colour(FILE *out, double hue, double saturation, double lightness);

#endif
