/* SPDX-License-Identifier: MIT */
/*
 * heap_picture: heaps as one SVG file: cells in order of address, a page or a group of pages each.
 *
 * Model: all heaps have cells of the same size, a power of two of pages, so that areas compare and
 *        the picture stays small. A cell's colour is how full its pages in use are, its height how
 *        many of them are in use; free pages are white. What is above the topmost block is one
 *        hatched strip, whatever its size. Above its cells a heap has a bar of its six parts.
 * Figures show under the pointer.
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
    char *owner; /* of a single page that is pinned: who does it, free(); NULL: nobody */
};

struct heap_picture_heap {
    int64_t heap_id;
    int64_t snapshot_id;
    uint64_t start;
    struct heap_parts parts;
    bool has_unseen;                       /* what is not live is not known to be free */
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

/* Chooses cell_bytes and makes cells, all empty; 0 or ERROR_NOMEM. */
struct error;
int heap_picture_divide(struct heap_picture *picture, struct error *err);

size_t heap_picture_cells(const struct heap_picture *picture, const struct heap_picture_heap *heap);

void heap_picture_draw(const struct heap_picture *picture, FILE *out);

/* Frees heaps and what they own. */
void heap_picture_done(struct heap_picture *picture);

#endif
