/* SPDX-License-Identifier: MIT */
/*
 * cmd_flamegraph: the call tree as a flame graph, callees below callers, or callers below with
 * --invert.
 *
 * The picture is one SVG file. The width of a box is its weight, the colour its module; children
 * hang below the root. A script inside gives zoom, search and tooltips. Boxes narrower than
 * --min-share are omitted.
 */
#ifndef MTRACE_QUERIES_CMD_FLAMEGRAPH_H
#define MTRACE_QUERIES_CMD_FLAMEGRAPH_H

struct call_tree;
struct error;
struct query;

struct flame_words {
    const char *title;
    const char *below; /* what child boxes and colours mean */
};

/* Draws a sorted tree. ERROR_NOT_FOUND: the tree has no weight. */
int cmd_flamegraph_draw(const struct query *query, const struct call_tree *tree,
                        const struct flame_words *words, struct error *err);

#endif
