/* SPDX-License-Identifier: MIT */
/*
 * function_totals: what each function, and each file of code, allocated itself and with everything
 * it called.
 *
 * Model:   the totals of a stack count once for every function and file on it, inlined ones
 *          included, however often it is there: at the outermost node of the function the whole
 *          subtree is counted. Ids are in preorder, so that what was counted between the first and
 *          the last node of a subtree is its sum. For each process only the nodes of its own stacks
 *          are gone over.
 * Invariants
 *   FT-1 Rows that were there before are replaced.
 *   FT-2 Self figures of all functions add up to those of the stacks whose call site has a function.
 *   FT-3 A margin is that of all blocks that are counted, each once; none where blocks are no samples.
 * Memory:  about 100 bytes per stack and 12 per level of a frame.
 * Failure: memory and the database.
 */
#ifndef MTRACE_IMPORTER_FUNCTION_TOTALS_H
#define MTRACE_IMPORTER_FUNCTION_TOTALS_H

#include "lib/base/error.h"

#include <sqlite3.h>

/* Needs backtraces, backtrace_totals, frame_lines and call_sites. */
int function_totals_write(sqlite3 *db, struct error *err);

#endif
