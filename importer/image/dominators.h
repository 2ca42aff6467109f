/* SPDX-License-Identifier: MIT */
/*
 * dominators: which block all paths from the roots to a block lead through, and how many bytes
 * would be lost with each block.
 *
 * Algorithm: semi-NCA (L. Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems",
 * 2005, section 2.3), with one vertex above all roots. Memory: 40 bytes per block and 4 per
 * pointer.
 *
 * Threads: one. Errors: memory.
 */
#ifndef MTRACE_IMPORTER_DOMINATORS_H
#define MTRACE_IMPORTER_DOMINATORS_H

#include "importer/image/heap_graph.h"

struct dominators {
    uint32_t *dominators; /* nearest block on all paths; NO_BLOCK: none, or the block is lost */
    uint64_t *retained;   /* bytes of the block and of those that it dominates; 0 if it is lost */
};

/* Free with dominators_done, also after a failure. */
int dominators_find(const struct block_index *index, const struct heap_graph *graph,
                    struct dominators *ret, struct error *err);

void dominators_done(struct dominators *dominators);

#endif
