/* SPDX-License-Identifier: MIT */
/*
 * blame: other call sites, chosen when a question is asked.
 *
 * Model: a stack whose call site is in a function that matches (or, where no function is known, in a file
 *        of code whose path does, or whose "module+0x1234" does) is blamed on the innermost position past
 *        it that neither a rule of the import (skipped_code) nor the pattern names; where nothing is
 *        left it keeps its call site. TEMP tables call_sites and backtraces stand in front of those of
 *        the file; the totals by call site must be computed anew (filtered_totals.h).
 * Invariants: BL-1 a place that is a call site of the file keeps its id; new ones follow the highest.
 * Memory: with the stacks, frames and functions of the file.
 * Failure: ERROR_USAGE for a pattern that is none, or that no function matches.
 */
#ifndef MTRACE_QUERIES_BLAME_H
#define MTRACE_QUERIES_BLAME_H

struct error;
struct rundb;

/* Before the views are used, and before rundb_lock. */
int blame_install(struct rundb *database, const char *pattern, struct error *err);

#endif
