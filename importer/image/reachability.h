/* SPDX-License-Identifier: MIT */
/*
 * reachability: which blocks of a heap image the program can still reach, from where, and which are
 * lost.
 *
 * The classes are those of valgrind's memcheck (manual, "4.2.9 Memory leak detection"):
 *   held           reachable, by the shortest path from the first kind of root that leads to it;
 *                  `is_interior_only`: only through a pointer into the middle of a block
 *                  ("possibly lost" there)
 *   lost           no pointer leads to it ("definitely lost")
 *   lost_indirect  only lost blocks point to it. Of a lost cycle, one block is lost.
 *
 * Threads: one. Errors: memory.
 */
#ifndef MTRACE_IMPORTER_REACHABILITY_H
#define MTRACE_IMPORTER_REACHABILITY_H

#include "importer/image/heap_graph.h"

enum block_state {
    BLOCK_LOST, /* 0: until the search finds it */
    BLOCK_LOST_INDIRECT,
    BLOCK_HELD,
};

extern const char *const block_state_names[3];

struct block_reach {
    uint32_t holder; /* block on the shortest path before this one; NO_BLOCK: a root, or none */
    uint32_t root; /* index in the graph's roots; of lost blocks: the lost block that leads to it */
    uint32_t distance; /* pointers from the root, or from the lost block */
    uint8_t state;     /* enum block_state */
    bool is_interior_only;
};

/* ret_reach: one for each block; free with free(). */
int reachability_find(const struct block_index *index, const struct heap_graph *graph,
                      struct block_reach **ret_reach, struct error *err);

#endif
