/* SPDX-License-Identifier: MIT */
/*
 * call_sites: the place in the user's own code that a person blames for a stack.
 *
 * Model: the innermost position of a stack, inlined ones included, that no rule skips. A rule is a
 *        row of call_site_rules: a GLOB over the qualified name of the function (without return
 *        type and parameters), the path of the object, or the path of the source. Each distinct
 *        function, object and source is matched once, then each level of each frame, then the tree
 *        is walked in preorder: a stack whose own frame is skipped has the call site of its caller.
 * Invariants
 *   CS-1 where the rules skip a whole stack its innermost position is the call site.
 *   CS-2 two stacks have one call site exactly if function, source, line and object are the same.
 * Failure: memory or the database.
 */
#ifndef MTRACE_IMPORTER_CALL_SITES_H
#define MTRACE_IMPORTER_CALL_SITES_H

#include "importer/model/definitions.h"
#include "lib/base/error.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Call sites by backtrace_id below n_stacks; 0: none. `ids` is from malloc. */
struct site_of_stack {
    uint32_t *ids;
    size_t n_stacks;
};

/* Replaces call_sites, skipped_code and backtraces.call_site_id. Needs functions, sources, frame_lines and
 * backtraces, or definitions, which backtraces, empty so far, are then written from: rather than once and once more. The caller holds a
 * transaction, and what *ret_sites has after success; NULL: nobody wants it. */
int call_sites_write(sqlite3 *db, const struct definitions *definitions,
                     struct site_of_stack *ret_sites, struct error *err);

#endif
