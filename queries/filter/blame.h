/* SPDX-License-Identifier: MIT */
/*
 * blame: chooses other call sites at query time (--blame-past).
 *
 * A call site matches the pattern by its function, else by the path of its file of code or by
 * "module+0x1234". A pattern that matches no name of a function names whole files of code. Stacks
 * of a matching call site get a new one: the innermost position past it that neither an import rule
 * (skipped_code) nor the pattern names. If none is left, the call site stays. TEMP tables
 * call_sites and backtraces replace those of the file. The totals by call site must be computed
 * again (filtered_totals.h).
 *
 * Invariants
 *   BL-1 A place that is a call site of the file keeps its id; new ids follow the highest one.
 *
 * Memory: grows with the stacks, frames and functions of the file.
 * Errors: ERROR_USAGE for an invalid pattern, or one that matches no function.
 */
#ifndef MTRACE_QUERIES_BLAME_H
#define MTRACE_QUERIES_BLAME_H

struct error;
struct rundb;

/* Call it before the views are used and before rundb_lock. */
int blame_install(struct rundb *database, const char *pattern, struct error *err);

#endif
