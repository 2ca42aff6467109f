/* SPDX-License-Identifier: MIT */
/*
 * stack_selection: the stacks with a matching frame, as ranges of preorder ids.
 *
 * A regex runs once over each distinct function, source or module. This gives matching frames, and
 * these give nodes of the stack tree. All nodes below such a node match, too. The result is a JSON
 * array of disjoint, ascending [first, last].
 *
 * Errors: ERROR_USAGE for a pattern that pcre2 rejects, with its reason and position; ERROR_NOMEM,
 * ERROR_DATABASE.
 */
#ifndef MTRACE_QUERIES_STACK_SELECTION_H
#define MTRACE_QUERIES_STACK_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct rundb;

/* The selected ids of a table; ids are small and dense. */
struct id_set {
    unsigned char *is_member; /* by id; [0] stands for invalid ids */
    size_t size;
};

/* Makes an empty set with space for all ids of the table. */
int id_set_init(struct id_set *set, const struct rundb *database, const char *table, const char *id,
                struct error *err);
void id_set_done(struct id_set *set);

bool id_set_has(const struct id_set *set, int64_t id);

/* Patterns of one frame: all that are given must match the same frame. Each list has alternatives;
 * empty: any. */
struct stack_selection {
    const char *functions[16];
    size_t n_functions;
    const char *sources[16];
    size_t n_sources;
    const char *libraries[16];
    size_t n_libraries;
};

/* ret_ranges: free with sqlite3_free. */
int stack_selection_run(const struct rundb *database, const struct stack_selection *selection,
                        char **ret_ranges, struct error *err);

/* Matching functions by name and files of code by path. Calls from code without a name match by
 * "module+0x1234" if the pattern contains "0x". A pattern that matches the name of no function
 * names files: all of their code matches. */
struct selected_code {
    struct id_set functions;
    struct id_set objects;
    bool is_whole_objects;
    struct id_set frames;     /* without a name */
    struct id_set call_sites; /* the same */
};

/* Call selected_code_done also after a failure. ret_code must be zeroed. */
int stack_selection_code(const struct rundb *database, const char *pattern,
                         struct selected_code *ret_code, bool *ret_is_found, struct error *err);
void selected_code_done(struct selected_code *code);

#endif
