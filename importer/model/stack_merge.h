/* SPDX-License-Identifier: MIT */
/*
 * stack_merge: the stack trees of all logs as one tree, numbered in preorder.
 *
 * Model:   a tree node is (parent, frame); frames are distinct positions in objects. Logs are added
 *          one after the other, each node below its already merged parent; at the end the nodes get
 *          their final numbers and the logs' tables are rewritten to those.
 *          Above the real roots stand three nodes that are no stacks, one for each status.
 * Invariants
 *   SM-1 A tree node's parent has a smaller index, so that one walk in either direction suffices.
 *   SM-2 Cycles and parents that a log does not hold end in the lost backtrace (DF-4).
 *   SM-3 About 28 bytes per tree node while merging, 20 afterwards; beside the logs' own tables.
 * Threads: one per merge.
 * Failure: ERROR_NOMEM.
 */
#ifndef MTRACE_IMPORTER_STACK_MERGE_H
#define MTRACE_IMPORTER_STACK_MERGE_H

#include "importer/log/log_names.h"
#include "importer/model/definitions.h"
#include "lib/base/id_table.h"

struct stack_merge_node {
    uint32_t parent; /* tree node */
    uint32_t frame;
};

struct stack_merge {
    struct stack_merge_node *nodes;
    size_t n_nodes, nodes_capacity; /* indexes 1..n_nodes */
    struct id_table node_table;
    struct definitions_frame *frames;
    size_t n_frames, frames_capacity;
    struct id_table frame_table;
    uint32_t *path; /* the nodes of a log between one and its nearest merged ancestor */
    size_t path_capacity;
};

int stack_merge_init(struct stack_merge *merge);
void stack_merge_done(struct stack_merge *merge);

/* Adds the nodes of a log whose modules have their objects. names' backtraces become tree nodes.
 * ret_n_lost counts nodes that had no parent or no module. */
int stack_merge_log(struct stack_merge *merge, struct log_names *names, uint64_t *ret_n_lost);

/*
 * Numbers the tree: backtraces[1..n_nodes'] and frames become those of `definitions`, and
 * ret_numbers[tree node] is the backtrace id; the caller frees it.
 */
int stack_merge_number(struct stack_merge *merge, struct definitions *definitions,
                       uint32_t **ret_numbers);

/* Rewrites a log's table from tree nodes to backtrace ids. */
void stack_merge_renumber(struct log_names *names, const uint32_t *numbers);

#endif
