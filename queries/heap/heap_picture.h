/* SPDX-License-Identifier: MIT */
/*
 * heap_picture: heaps as one SVG file: cells in the order of addresses, a page or several pages
 * each.
 *
 * Cells of all heaps have the same size, a power of two of pages, so areas are comparable and the
 * picture stays small. The colour of a cell shows how full its used pages are, its height how many
 * pages are used; free pages are white. Memory above the topmost block is one hatched strip of
 * fixed width. Above its cells each heap has a bar of its six parts. Tooltips show the numbers.
 */
#ifndef MTRACE_QUERIES_HEAP_PICTURE_H
#define MTRACE_QUERIES_HEAP_PICTURE_H

#include "lib/totals/heap_parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    HEAP_PICTURE_MAX_CELLS = 8192,
    HEAP_PICTURE_TEXT_BYTES = 512
};

struct heap_picture_cell {
    uint64_t live_bytes, live_blocks, n_used;
    char *owner; /* of a single pinned page: its call site, free(); NULL: none */
};

struct heap_picture_heap {
    int64_t heap_id;
    int64_t snapshot_id;
    uint64_t start;
    struct heap_parts parts;
    bool has_unseen;                       /* memory that is not live is not known to be free */
    char name[32];                         /* "brk heap 1" */
    char topmost[HEAP_PICTURE_TEXT_BYTES]; /* the topmost block; "": there is none */
    struct heap_picture_cell *cells;       /* heap_picture_cells of them */
};

struct heap_picture {
    struct heap_picture_heap *heaps; /* in order of address */
    size_t n_heaps;
    uint64_t page_bytes, cell_bytes;
    const char *title;
    const char *note; /* below the heaps; "": none */
};

/* Chooses cell_bytes and allocates empty cells. 0 or ERROR_NOMEM. */
struct error;
int heap_picture_divide(struct heap_picture *picture, struct error *err);

size_t heap_picture_cells(const struct heap_picture *picture, const struct heap_picture_heap *heap);

void heap_picture_draw(const struct heap_picture *picture, FILE *out);

/* Frees the heaps and what they own. */
void heap_picture_done(struct heap_picture *picture);

#endif
