/* SPDX-License-Identifier: MIT */
/*
 * suppressions: the user's rules for leaks to ignore.
 *
 * The file has the syntax of LeakSanitizer: one "leak:PATTERN" per line; "#" begins a comment;
 * blank lines are skipped. A pattern matches anywhere in the name of a function, source or module.
 * "*" matches anything, "^" and "$" match the ends of the name. A pattern becomes a GLOB, so that
 * SQL does the matching (view suppressions). The user's rules precede the recorded and the built-in
 * ones.
 *
 * Errors: ERROR_USAGE with file and line for an invalid rule or an empty pattern, which would
 * suppress everything.
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
