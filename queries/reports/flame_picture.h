/* SPDX-License-Identifier: MIT */
/*
 * flame_picture: a tree of weights as one SVG file: width is weight, children hang below, the root on top,
 * where a page opens; colour is the module. Zoom, search and figures under the pointer come from the
 * script inside. What is narrower than --min-share is left out.
 */
#ifndef MTRACE_QUERIES_FLAME_PICTURE_H
#define MTRACE_QUERIES_FLAME_PICTURE_H

struct call_tree;
struct error;
struct query;

struct flame_words {
    const char *title;
    const char *below; /* what hangs below what, and what the colour is */
};

/* Of a sorted tree. ERROR_NOT_FOUND: it weighs nothing. */
int flame_picture_draw(const struct query *query, const struct call_tree *tree,
                       const struct flame_words *words, struct error *err);

#endif
