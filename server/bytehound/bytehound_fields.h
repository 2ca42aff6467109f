/* SPDX-License-Identifier: MIT */
/*
 * bytehound_fields: rows of a statement as JSON objects in bytehound's form.
 *
 * A table of fields names the members of an object in the order of the statement's columns. Each
 * field reads one column, except BYTEHOUND_NULL and BYTEHOUND_END. Times are nanoseconds of the
 * database. A NULL column is null, and so is an object whose own column is NULL; the columns of its
 * members are then skipped.
 *
 * A stack is an array of frames, outermost first, each followed by the calls inlined into it. The
 * stack tree is read once per request, the text of a frame at its first use. "count" is the number
 * of allocations with the frame on their stack; recursion counts once. An address is that of the
 * first process that mapped the code.
 *
 * Errors: ERROR_NOMEM and the errors of rundb_step.
 */
#ifndef MTRACE_SERVER_BYTEHOUND_FIELDS_H
#define MTRACE_SERVER_BYTEHOUND_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytehound;
struct error;
struct sqlite3_stmt;

enum bytehound_field_type {
    BYTEHOUND_END,  /* of an object; the name is NULL */
    BYTEHOUND_NULL, /* not recorded; reads no column */
    BYTEHOUND_NUMBER,
    BYTEHOUND_BOOL,
    BYTEHOUND_TEXT,
    BYTEHOUND_ADDRESS, /* NAME and NAME_s: a number and hexadecimal digits */
    BYTEHOUND_TIME,    /* {"secs":…,"fract_nsecs":…} since the epoch */
    BYTEHOUND_TIMES,   /* the same, NAME_relative: since the start, NAME_relative_p: as a share */
    BYTEHOUND_SPAN,    /* a duration, as {"secs":…,"fract_nsecs":…} */
    BYTEHOUND_STACK,   /* the id of a stack; null if there is none */
    BYTEHOUND_OBJECT,  /* begins an object that ends with BYTEHOUND_END */
    BYTEHOUND_CHOICE,  /* the same, omitted instead of null */
};

struct bytehound_field {
    const char *name;
    enum bytehound_field_type type;
};

struct bytehound_node {
    int64_t parent, last, frame; /* last: the last stack below it, as ids are in preorder */
    int64_t n_allocations;       /* with exactly this stack */
};

struct bytehound_stacks {
    struct bytehound_node *nodes; /* by id, from 1; NULL: no stacks are loaded */
    size_t n_nodes, n_frames;
    int64_t *counts;             /* by frame id */
    char **texts;                /* by frame id; NULL: not made yet */
    struct sqlite3_stmt *frames; /* the levels of one frame */
};

int bytehound_stacks_load(struct bytehound_stacks *stacks, const struct bytehound *self,
                          struct error *err);
void bytehound_stacks_done(struct bytehound_stacks *stacks);

/* Prints the rows of a statement as objects with commas between them. stacks may be NULL if no
 * field is a stack. */
int bytehound_fields_put(const struct bytehound *self, struct bytehound_stacks *stacks,
                         struct sqlite3_stmt *stmt, const struct bytehound_field *fields,
                         struct error *err);

#endif
