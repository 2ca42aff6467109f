/* SPDX-License-Identifier: MIT */
/*
 * call_sites: the call site of each stack: the place in the user's own code that is blamed for it.
 *
 * The call site is the innermost position of a stack, including inlined ones, that no rule skips. A
 * rule is a row of call_site_rules: a GLOB over the qualified function name (without return type
 * and parameters), the path of the object, or the path of the source. Each distinct function,
 * object and source is matched once, then each level of each frame. The stack tree is then walked
 * in preorder: a stack whose own frame is skipped has the call site of its caller.
 *
 * Invariants
 *   CS-1 If the rules skip a whole stack, its innermost position is the call site.
 *   CS-2 Two stacks have one call site exactly if function, source, line and object are the same.
 *
 * Errors: memory or the database.
 */
#ifndef MTRACE_IMPORTER_CALL_SITES_H
#define MTRACE_IMPORTER_CALL_SITES_H

#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Call sites by backtrace_id below n_stacks; 0: none. The caller frees `ids` with free(). */
struct site_of_stack {
    uint32_t *ids;
    size_t n_stacks;
};

/* Replaces call_sites, skipped_code and backtraces.call_site_id. Needs functions, sources,
 * frame_lines and backtraces in the database. If definitions is given, backtraces must be empty and
 * is written from it, which saves an update of each row. The caller has an open transaction.
 * ret_sites may be NULL; the caller owns its content after success. */
int call_sites_write(sqlite3 *db, const struct definitions *definitions,
                     struct site_of_stack *ret_sites, struct error *err);

#endif
