/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: positions in one ELF object -> functions, files, lines, inlined chains; in bulk.
 *
 * Model: opening finds the object and its debug info and says what was found. A run gets every
 *        distinct position of the object at once, walks the compilation units that hold one, each
 *        once, and calls back for each position with its levels, innermost (inline_level 0) first.
 *        When nothing is known a position has one level without names, and the caller shows
 *        module + offset.
 * Invariants
 *   SZ-1 on_position is called exactly once for every position, in no particular order, unless it
 *        returned non-zero or the run failed.
 *   SZ-2 a file whose build-id is not the recorded one gives nothing.
 * Threads: one user at a time per struct symbolizer; different ones are independent.
 * Failure: a missing, unreadable or damaged object is not an error: names are missing, and the note
 *        says why and what would cure it. Errors are memory, or what the callback returned.
 */
#ifndef MTRACE_SYMBOLIZER_SYMBOLIZER_H
#define MTRACE_SYMBOLIZER_SYMBOLIZER_H

#include "lib/base/error.h"
#include "symbolizer/symbolizer_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolizer;

struct symbolizer_position {
    uint64_t offset; /* ELF virtual address */
    bool is_exact;   /* an interrupted pc; else a return address, looked up inside the call */
};

/* One level of one position. Strings live until the callback returns; NULL or 0 = unknown. */
struct symbolizer_level {
    const char *function; /* demangled */
    const char *raw_name; /* as in DW_AT_linkage_name or the symbol table */
    const char *source;   /* normalized; absolute where the debug info says so */
    uint32_t line;
    uint32_t column;
};

/* levels[0] is innermost; n_levels >= 1. Returns 0 to go on, else symbolizer_run ends with that
 * value and leaves err alone. */
typedef int symbolizer_position_fn(void *context, size_t position,
                                   const struct symbolizer_level *levels, size_t n_levels);

/* The options must outlive the symbolizer. Debug info is found here, and read by the first run. */
int symbolizer_open(const struct symbolizer_options *options,
                    const struct symbolizer_object *object, struct symbolizer **ret_symbolizer,
                    struct error *err);

/* Positions ascend by offset; at equal offsets those with is_exact = false come first. */
int symbolizer_run(struct symbolizer *symbolizer, const struct symbolizer_position *positions,
                   size_t n_positions, symbolizer_position_fn *on_position, void *context,
                   struct error *err);

/* File that gives lines, NULL if none was found. */
const char *symbolizer_debug_path(const struct symbolizer *symbolizer);

/* Why lines are missing and what would cure it, NULL if they are there. A run that meets damage
 * adds to it. */
const char *symbolizer_note(const struct symbolizer *symbolizer);

/* Which files the answers come from, as text: equal identities give equal answers. NULL: answers
 * should not be kept, because something that is not among these files is missing or damaged and may
 * be mended. An object without any debug info has one: the answers are those of its symbols. */
const char *symbolizer_identity(const struct symbolizer *symbolizer);

/* NULL is fine. */
void symbolizer_close(struct symbolizer *symbolizer);

#endif
