/* SPDX-License-Identifier: MIT */
/*
 * stack_merge: merges the stack trees of all logs into one tree, numbered in preorder.
 *
 * A tree node is (parent, frame); frames are distinct positions in objects. The logs are added one
 * after the other, each node below its merged parent. At the end the nodes get their final numbers,
 * and the tables of the logs are rewritten to these. Above the real roots are three nodes that are
 * no stacks, one for each status.
 *
 * Invariants
 *   SM-1 A node's parent has a smaller index, so one pass in either direction suffices.
 *   SM-2 Cycles, and parents that a log lacks, end in the lost backtrace (DF-4).
 *   SM-3 Memory: about 28 bytes per tree node while merging, 20 afterwards, beside the logs' own
 *        tables.
 *
 * Threads: one per merge. Errors: ERROR_NOMEM.
 */
#ifndef MTRACE_IMPORTER_STACK_MERGE_H
#define MTRACE_IMPORTER_STACK_MERGE_H

#include "importer/log/log_names.h"
#include "importer/model/definitions.h"
#include "lib/base/hash_map.h"

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
    uint32_t *path; /* nodes of a log between a node and its nearest merged ancestor */
    size_t path_capacity;
};

int stack_merge_init(struct stack_merge *merge);
void stack_merge_done(struct stack_merge *merge);

/* Adds the nodes of a log whose modules have their objects. The log's backtraces become tree nodes.
 * ret_n_lost counts nodes without a parent or module. */
int stack_merge_log(struct stack_merge *merge, struct log_names *names, uint64_t *ret_n_lost);

/*
 * Numbers the tree: fills backtraces and frames of `definitions`. ret_numbers[tree node] is the
 * backtrace id; the caller frees it.
 */
int stack_merge_number(struct stack_merge *merge, struct definitions *definitions,
                       uint32_t **ret_numbers);

/* Rewrites a log's table from tree nodes to backtrace ids. */
void stack_merge_renumber(struct log_names *names, const uint32_t *numbers);

#endif
