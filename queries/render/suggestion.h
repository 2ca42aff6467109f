/* SPDX-License-Identifier: MIT */
/*
 * suggestion: which of the known names a misspelt one was meant to be: the nearest by letters that are
 * wrong, missing, too many or swapped, when at most a third of them are.
 */
#ifndef MTRACE_QUERIES_SUGGESTION_H
#define MTRACE_QUERIES_SUGGESTION_H

#include <stddef.h>

struct suggestion {
    const char *word; /* as written; the rest begins as zero */
    const char *best;
    size_t distance;
};

/* name must live as long as the suggestion. */
void suggestion_consider(struct suggestion *suggestion, const char *name);

/* NULL: none is near. */
const char *suggestion_best(const struct suggestion *suggestion);

#endif
