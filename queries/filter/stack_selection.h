/* SPDX-License-Identifier: MIT */
/*
 * stack_selection: the stacks on which a frame matches, as ranges of preorder ids.
 *
 * Model: a regex runs once over each distinct function, source or module. Frames with a match are
 *        looked up, then the nodes of the stack tree that stand on such a frame; everything below
 *        such a node matches, too. The answer is a JSON array of disjoint, rising [first, last].
 * Failure: ERROR_USAGE for a pattern that pcre2 refuses, with its reason and place.
 */
#ifndef MTRACE_QUERIES_STACK_SELECTION_H
#define MTRACE_QUERIES_STACK_SELECTION_H

#include "queries/filter/id_set.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct rundb;

/* Patterns of one frame: where several are given, all must match on the same one. Each is a list of
 * alternatives; empty: anything. */
struct stack_selection {
    const char *functions[16];
    size_t n_functions;
    const char *sources[16];
    size_t n_sources;
    const char *libraries[16];
    size_t n_libraries;
};

/* ret_ranges: sqlite3_free it. */
int stack_selection_run(const struct rundb *database, const struct stack_selection *selection,
                        char **ret_ranges, struct error *err);

/* Functions whose name matches, files of code whose path does, and, of calls from code without a name, those
 * whose "module+0x1234" does, where the pattern has "0x" in it. */
struct selected_code {
    struct id_set functions;
    struct id_set objects;
    struct id_set frames;     /* without a name */
    struct id_set call_sites; /* the same */
};

/* Call selected_code_done in any case; ret_code begins all zero. */
int stack_selection_code(const struct rundb *database, const char *pattern,
                         struct selected_code *ret_code, bool *ret_is_found, struct error *err);
void selected_code_done(struct selected_code *code);

#endif
