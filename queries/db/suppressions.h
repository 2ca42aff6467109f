/* SPDX-License-Identifier: MIT */
/*
 * suppressions: a user's own rules of what is no leak to look at.
 *
 * Model: a file in LeakSanitizer's syntax: one "leak:PATTERN" a line, "#" begins a comment, blank
 *        lines are skipped. A pattern may stand anywhere in the name of a function, source or
 *        module; "*" matches anything, "^" and "$" tie it to the name's ends. It becomes a GLOB, so
 *        that matching is SQL's own work (view suppressions). User rules go before the
 *        recorded and the built-in ones.
 * Failure: ERROR_USAGE with file and line for what is no rule, and for an empty pattern,
 * which would suppress everything.
 */
#ifndef MTRACE_QUERIES_SUPPRESSIONS_H
#define MTRACE_QUERIES_SUPPRESSIONS_H

#include <stddef.h>

struct rundb;
struct error;

enum {
    SUPPRESSIONS_PATTERN_BYTES = 1024
};

/* PATTERN -> GLOB. */
int suppressions_to_glob(const char *pattern, char *ret_glob, size_t size, struct error *err);

/* Must come before rundb_lock. */
int suppressions_load(struct rundb *database, const char *path, struct error *err);

#endif
