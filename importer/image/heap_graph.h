/* SPDX-License-Identifier: MIT */
/*
 * heap_graph: which block of a heap image points to which, and which words outside of blocks point
 * to blocks.
 *
 * Only live blocks are read, and only their requested bytes: freed memory and slack have stale
 * addresses. A pointer is `interior` if it does not point to the first byte of a block. As in
 * valgrind, these count as the first byte, too: an array behind the count that operator new[]
 * keeps, and a second base class, which has a vtable pointer as the object has at its start.
 *
 * Threads: one. Errors: memory, and those of image_file_words.
 */
#ifndef MTRACE_IMPORTER_HEAP_GRAPH_H
#define MTRACE_IMPORTER_HEAP_GRAPH_H

#include "importer/image/block_index.h"
#include "importer/image/image_file.h"
#include "importer/image/root_areas.h"
#include "importer/image/stack_functions.h"

/* block * 2 + is_interior */
typedef uint32_t heap_edge;

static inline uint32_t heap_edge_block(heap_edge edge)
{
    return edge >> 1;
}

static inline bool heap_edge_is_interior(heap_edge edge)
{
    return edge & 1;
}

/* A word outside of blocks, or a register, that points to a block. */
struct root_edge {
    uint64_t address; /* of the word; number of the register */
    heap_edge edge;
    uint32_t area; /* index; of a REGISTER: index of the thread */
    enum root_kind kind;
};

/* A word of the blocks of a call site that is not read: of a list that links all objects. */
struct ignored_link {
    uint32_t call_site_id;
    uint64_t offset_bytes; /* of the word in the block */
};

struct heap_graph {
    const struct ignored_link *ignored; /* set these before heap_graph_make */
    size_t n_ignored;
    uint64_t
        *first_edges; /* n_blocks + 1: a block's edges are [first_edges[i], first_edges[i + 1]) */
    heap_edge *edges;
    struct root_edge *roots; /* in the order of kinds, then of addresses */
    uint64_t n_edges;
    size_t n_roots;
    size_t edge_capacity, root_capacity; /* private */
};

/* Free with heap_graph_done, also after a failure. Gives `stacks` the pages of stacks. */
int heap_graph_make(const struct image_file *image, const struct block_index *index,
                    const struct root_areas *areas, struct stack_functions *stacks,
                    struct heap_graph *graph, struct error *err);

void heap_graph_done(struct heap_graph *graph);

#endif
