/* SPDX-License-Identifier: MIT */
/*
 * stack_weights: all stacks with their weights, and the positions of each stack.
 *
 * A weight is the bytes and blocks of one measure, summed over the selected processes, after the
 * filters (which replace backtrace_totals, see filtered_totals.h). A stack is a list of positions.
 * A frame with inlined calls gives several positions. Unknown members of a position are NULL or 0.
 *
 * Invariants
 *   W-1 Weights are sorted by backtrace_id, each once, none with 0 bytes and 0 blocks.
 *   W-2 The stack of a weight has 1 to max_positions positions.
 *   W-3 The stack tree is read from the file: filters do not change parents and frames.
 *
 * Ownership: all strings and positions live until stack_weights_done.
 * Memory: grows with the stacks and frames of the file, not with its allocations.
 */
#ifndef MTRACE_QUERIES_STACK_WEIGHTS_H
#define MTRACE_QUERIES_STACK_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct query;
struct rundb;

enum stack_measure {
    STACK_MEASURE_PEAK,      /* live at the peak of its process */
    STACK_MEASURE_LEAKED,    /* never freed and not suppressed */
    STACK_MEASURE_ALLOCATED, /* all */
    STACK_MEASURE_FREED,
    STACK_MEASURE_TEMPORARY,
    STACK_MEASURE_LIVE, /* live at the time of --at */
};

struct stack_position {
    int64_t frame_id;
    int64_t function_id; /* 0: unknown */
    int64_t source_id;
    int64_t object_id;
    int64_t object_offset;
    int64_t line;         /* 0: unknown */
    int inline_level;     /* 0: the innermost of its frame */
    const char *function; /* demangled */
    const char *raw_name; /* of the function, as in the symbol table */
    const char *source;   /* path */
    const char *module;   /* path of the object */
};

struct stack_weight {
    int64_t backtrace_id;
    int64_t bytes;
    int64_t blocks;
    double bytes_square, blocks_square; /* squared margins of estimates, which are additive */
};

struct stack_node {
    int64_t parent_id; /* 0 for a root or an unknown id */
    int64_t frame_id;
    size_t n_positions; /* from the root on */
};

struct stack_weights {
    const struct rundb *database; /* the source; NULL in a test */
    enum stack_measure measure;
    struct stack_weight *list;
    size_t n;
    int64_t total_bytes, total_blocks;
    double bytes_square, blocks_square; /* of the margins of the totals */
    bool is_estimate;                   /* some weights have a margin */
    int64_t suppressed_bytes;           /* leaked but excluded by a suppression */
    size_t max_positions; /* of all stacks: exports also read stacks without a weight */

    /* The stack tree and its code, indexed by id. Use the functions below. */
    struct stack_node *nodes;
    int64_t n_nodes; /* highest id + 1, as n_frames */
    struct stack_position *positions;
    size_t n_positions;
    size_t *first_position; /* by frame_id: its positions end at those of the next frame */
    int64_t n_frames;
    char **names; /* owned strings */
    size_t n_names;
};

/* "peak", "leaked", "allocated", "freed", "temporary", "live". ERROR_USAGE lists them. */
int stack_measure_parse(const char *text, enum stack_measure *ret_measure, struct error *err);
const char *stack_measure_name(enum stack_measure measure);

/* SQL expressions over backtrace_totals, or over _leaked_stacks for STACK_MEASURE_LEAKED. */
struct stack_measure_columns {
    const char *bytes, *blocks;
    const char *bytes_square, *blocks_square; /* squared margins; NULL: exact */
};

const struct stack_measure_columns *stack_measure_columns(enum stack_measure measure);

/* For titles: "live at the peak", "leaked" (headline_leaked), … */
const char *stack_measure_title(const struct query *query, enum stack_measure measure);

/* The measure of --measure; without it live if --at is given, else peak. ERROR_USAGE for live
 * without --at. */
int stack_measure_of(const struct query *query, enum stack_measure *ret_measure, struct error *err);

/* Loads the weights. process_id 0: all. Call stack_weights_done also after a failure. The command
 * must have COMMAND_FILTERS_STACKS or _ALL. */
int stack_weights_load(struct stack_weights *weights, const struct query *query, int64_t process_id,
                       enum stack_measure measure, struct error *err);
void stack_weights_done(struct stack_weights *weights);

/* The positions of a stack, outermost first, in an array of max_positions. Returns their number. */
size_t stack_weights_positions(const struct stack_weights *weights, int64_t backtrace_id,
                               const struct stack_position **ret_positions);

/* At most n positions of a stack, innermost first. Returns their number. */
size_t stack_weights_innermost(const struct stack_weights *weights, int64_t backtrace_id,
                               const struct stack_position **ret_positions, size_t n);

/* The positions of one frame, innermost first; ret_n of them. */
const struct stack_position *stack_weights_frame(const struct stack_weights *weights,
                                                 int64_t frame_id, size_t *ret_n);

#endif
