/* SPDX-License-Identifier: MIT */
/*
 * suggestion: the known name that a misspelt one probably means: the nearest by wrong, missing,
 * extra or swapped letters, if at most a third of the letters differ.
 */
#ifndef MTRACE_QUERIES_SUGGESTION_H
#define MTRACE_QUERIES_SUGGESTION_H

#include <stddef.h>

struct suggestion {
    const char *word; /* as written; the other members must be zero */
    const char *best;
    size_t distance;
};

/* name must live as long as the suggestion. */
void suggestion_consider(struct suggestion *suggestion, const char *name);

/* NULL: no name is near. */
const char *suggestion_best(const struct suggestion *suggestion);

#endif
