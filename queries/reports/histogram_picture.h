/* SPDX-License-Identifier: MIT */
/*
 * histogram_picture: how many blocks there are of each class of sizes or of lifetimes, as bars.
 *
 * Model: all processes that are asked for, together. Of sizes a bar is what leaked, what was temporary and the others; of
 *        lifetimes the last bar is what never ended.
 */
#ifndef MTRACE_QUERIES_HISTOGRAM_PICTURE_H
#define MTRACE_QUERIES_HISTOGRAM_PICTURE_H

#include <stdbool.h>

struct error;
struct query;

/* is_inline: inside of a page. */
int histogram_picture_draw(const struct query *query, bool is_of_sizes, bool is_inline,
                           struct error *err);

#endif
