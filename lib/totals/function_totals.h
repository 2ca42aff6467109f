/* SPDX-License-Identifier: MIT */
/*
 * function_totals: self and inclusive allocation totals of each function and each object file.
 *
 * The totals of a stack count once for every function and file on it, including inlined ones,
 * however often it occurs: the whole subtree is counted at the outermost node of the function. Ids
 * are in preorder, so the sum of a subtree is the difference between its last and its first node.
 * For each process only the nodes of its own stacks are visited.
 *
 * Invariants
 *   FT-1 Existing rows are replaced.
 *   FT-2 Self totals of all functions add up to those of the stacks whose call site has a function.
 *   FT-3 A margin is that of all counted blocks, each counted once; none if blocks are no samples.
 *
 * Memory: about 100 bytes per stack and 12 per level of a frame.
 * Errors: memory and the database.
 */
#ifndef MTRACE_LIB_FUNCTION_TOTALS_H
#define MTRACE_LIB_FUNCTION_TOTALS_H

#include "lib/base/error.h"

#include <sqlite3.h>

/* Writes function_totals and module_totals, TEMP tables if they exist. Needs backtraces,
 * backtrace_totals, frame_lines and call_sites. */
int function_totals_write(sqlite3 *db, struct error *err);

#endif
