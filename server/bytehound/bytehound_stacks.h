/* SPDX-License-Identifier: MIT */
/*
 * bytehound_stacks: stacks in bytehound's form: arrays of frames, outermost first, inlined calls
 * after the frame that contains them.
 *
 * The stack tree and the frames are read once per request; the text of a frame is made at its first
 * use. "count" is the number of allocations with the frame on their stack, recursion counted once.
 * An address is that of the first process that mapped the code.
 *
 * Memory: grows with stacks and frames, not with allocations.
 * Errors: ERROR_NOMEM and the errors of rundb_step.
 */
#ifndef MTRACE_SERVER_BYTEHOUND_STACKS_H
#define MTRACE_SERVER_BYTEHOUND_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bytehound;
struct error;

struct bytehound_node {
    int64_t parent, last, frame;
    int64_t n_allocations; /* with exactly this stack */
};

/* One place in the source of a frame; texts are owned by the stacks. */
struct bytehound_level {
    int64_t frame;
    const char *function, *raw_function, *source, *library; /* NULL: unknown */
    int64_t line, column;                                   /* 0: unknown */
    int64_t address;
    bool is_inline;
};

struct bytehound_stacks {
    struct bytehound_node *nodes; /* by id, from 1 */
    int64_t n_nodes;
    struct bytehound_level *levels; /* by frame, the outermost first */
    size_t n_levels;
    size_t *first_level; /* by frame id: its levels end at those of the next frame */
    int64_t n_frames;
    int64_t *counts; /* by frame id */
    char **texts;
    size_t n_texts, texts_capacity;
};

int bytehound_stacks_load(struct bytehound_stacks *stacks, const struct bytehound *self,
                          struct error *err);
void bytehound_stacks_done(struct bytehound_stacks *stacks);

/* [frame, …]; "[]" for an unknown id. */
void bytehound_stacks_put(const struct bytehound_stacks *stacks, const struct bytehound *self,
                          int64_t id);

/* {…}: one level. */
void bytehound_stacks_put_level(const struct bytehound_stacks *stacks, const struct bytehound *self,
                                const struct bytehound_level *level);

/* The levels of a node's frame, outermost first; ret_n of them. */
const struct bytehound_level *bytehound_stacks_levels(const struct bytehound_stacks *stacks,
                                                      int64_t id, size_t *ret_n);

/* A stack with this id exists. */
bool bytehound_stacks_has(const struct bytehound_stacks *stacks, int64_t id);

#endif
