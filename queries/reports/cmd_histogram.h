/* SPDX-License-Identifier: MIT */
/*
 * cmd_histogram: size-histogram and lifetime-histogram as rows, or as a picture.
 *
 * The picture has the number of blocks in each size class or lifetime class as bars, summed over
 * the selected processes. A bar of sizes is split into leaked, temporary and other blocks. The last
 * bar of lifetimes has the blocks that were never freed.
 */
#ifndef MTRACE_QUERIES_CMD_HISTOGRAM_H
#define MTRACE_QUERIES_CMD_HISTOGRAM_H

#include <stdbool.h>

struct error;
struct query;

/* is_inline: inside an HTML page. */
int cmd_histogram_draw(const struct query *query, bool is_of_sizes, bool is_inline,
                       struct error *err);

#endif
