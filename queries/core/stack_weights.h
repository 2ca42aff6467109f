/* SPDX-License-Identifier: MIT */
/*
 * stack_weights: every stack with what it weighs, and how to read it from root to leaf.
 *
 * Model: a weight is the bytes and blocks of one measure, summed over the processes that are asked
 *        for, after the filters (they stand behind backtrace_totals, filtered_totals.h). A stack is
 *        a list of positions, outermost first; a frame into which calls were inlined gives several,
 *        and what is not known of a position is NULL or 0.
 * Invariants: W-1 weights are sorted by backtrace_id, each once, none of 0 bytes and 0 blocks. W-2
 *        every weight's stack has at least one and at most max_positions positions. W-3 the stack
 *        tree is read from the file alone: parents and frames do not depend on filters.
 * Ownership: all strings and positions live until stack_weights_done.
 * Memory: with the stacks and frames of the file, not with its allocations.
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
    STACK_MEASURE_PEAK,      /* live when its process had most live bytes */
    STACK_MEASURE_LEAKED,    /* never freed, and no rule suppresses it */
    STACK_MEASURE_ALLOCATED, /* all that pass the filters */
    STACK_MEASURE_FREED,
    STACK_MEASURE_TEMPORARY,
    STACK_MEASURE_LIVE, /* live at the instant of --at: all that pass that filter */
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
    double bytes_square,
        blocks_square; /* of their margins, where they are estimates: these add up */
};

struct stack_node {
    int64_t parent_id; /* 0 at a root, and for an id that is none */
    int64_t frame_id;
    size_t n_positions; /* from the root on */
};

struct stack_weights {
    const struct rundb *database; /* they were read from; NULL: none, in a test */
    enum stack_measure measure;
    struct stack_weight *list;
    size_t n;
    int64_t total_bytes, total_blocks;
    double bytes_square, blocks_square; /* of the margins of the totals */
    bool is_estimate;                   /* some of what was read has a margin */
    int64_t suppressed_bytes;           /* leaked, and left out because a rule suppresses them */
    size_t max_positions; /* of any stack, as exports ask for others than those with a weight */

    /* The stack tree and its code, by id; use the functions below. */
    struct stack_node *nodes;
    int64_t n_nodes; /* highest id + 1; so the others */
    struct stack_position *positions;
    size_t n_positions;
    size_t *first_position; /* by frame_id: its positions end where those of the next begin */
    int64_t n_frames;
    char **names; /* owned strings */
    size_t n_names;
};

/* "peak", "leaked", "allocated", "freed", "temporary", "live". ERROR_USAGE lists them. */
int stack_measure_parse(const char *text, enum stack_measure *ret_measure, struct error *err);
const char *stack_measure_name(enum stack_measure measure);

/* Expressions of what is counted in backtrace_totals, and in _leaked_stacks if that is STACK_MEASURE_LEAKED. */
struct stack_measure_columns {
    const char *bytes, *blocks;
    const char *bytes_square, *blocks_square; /* of the margins; NULL where it is exact */
};

const struct stack_measure_columns *stack_measure_columns(enum stack_measure measure);

/* What is counted, for titles: "live at the peak", "leaked", … */
const char *stack_measure_title(enum stack_measure measure);

/* The measure that options ask for with --measure; without it live when --at is given, else peak.
 * ERROR_USAGE for live without --at. */
int stack_measure_of(const struct query *query, enum stack_measure *ret_measure, struct error *err);

/* process_id 0: all. Call stack_weights_done in any case. The command must have
 * COMMAND_FILTERS_STACKS or _ALL. */
int stack_weights_load(struct stack_weights *weights, const struct query *query, int64_t process_id,
                       enum stack_measure measure, struct error *err);
void stack_weights_done(struct stack_weights *weights);

/* The positions of a stack, outermost first, into an array of max_positions; returns their number.
 */
size_t stack_weights_positions(const struct stack_weights *weights, int64_t backtrace_id,
                               const struct stack_position **ret_positions);

/* The innermost positions of a stack, the innermost first, at most n of them; returns their number. */
size_t stack_weights_innermost(const struct stack_weights *weights, int64_t backtrace_id,
                               const struct stack_position **ret_positions, size_t n);

/* The positions of one frame, innermost first; ret_n of them. */
const struct stack_position *stack_weights_frame(const struct stack_weights *weights,
                                                 int64_t frame_id, size_t *ret_n);

#endif
