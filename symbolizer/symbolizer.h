/* SPDX-License-Identifier: MIT */
/*
 * symbolizer: maps positions in one ELF object to functions, files, lines and inlined calls, in
 * bulk.
 *
 * Opening finds the object and its debug info, and a note says what is missing. A run gets all
 * distinct positions of the object together and walks each compilation unit with positions once. It
 * calls back for each position with its levels, innermost (inline_level 0) first. A position
 * without a symbol is named by the start of its function in .eh_frame ("git+0x1d7c00"); without
 * that it has one level without names, and the caller shows module + offset.
 *
 * Invariants
 *   SZ-1 on_position is called exactly once for every position, in no particular order, unless it
 *        returned non-zero or the run failed.
 *   SZ-2 A file whose build id is not the recorded one is not used.
 *
 * Threads: one user at a time per struct symbolizer; different ones are independent.
 * Errors: memory, or what the callback returned. A missing, unreadable or damaged object is not an
 * error: names are missing, and the note has the reason and a hint.
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
    bool is_exact;   /* interrupted PC; else a return address, looked up inside the call */
};

/* One level of one position. Strings live until the callback returns; NULL or 0 = unknown. */
struct symbolizer_level {
    const char *function; /* demangled */
    const char *raw_name; /* as in DW_AT_linkage_name or the symbol table */
    const char *source;   /* normalized; absolute where the debug info says so */
    uint32_t line;
    uint32_t column;
};

/* levels[0] is innermost; n_levels >= 1. Non-zero ends symbolizer_run with that value; err is not
 * set. */
typedef int symbolizer_position_fn(void *context, size_t position,
                                   const struct symbolizer_level *levels, size_t n_levels);

/* The options must outlive the symbolizer. Finds the debug info; the first run reads it. */
int symbolizer_open(const struct symbolizer_options *options,
                    const struct symbolizer_object *object, struct symbolizer **ret_symbolizer,
                    struct error *err);

/* Positions are sorted by offset, at equal offsets those with is_exact = false first. */
int symbolizer_run(struct symbolizer *symbolizer, const struct symbolizer_position *positions,
                   size_t n_positions, symbolizer_position_fn *on_position, void *context,
                   struct error *err);

/* File that gives lines, NULL if none was found. */
const char *symbolizer_debug_path(const struct symbolizer *symbolizer);

/* Why lines are missing, with a hint; NULL if they are there. A run that finds damage adds to
 * it. */
const char *symbolizer_note(const struct symbolizer *symbolizer);

/* Identifies the files that the results come from: equal texts, equal results. NULL: do not cache
 * the results, because another file is missing or damaged and may be repaired. An object without
 * debug info has an identity: its results come from its symbols. */
const char *symbolizer_identity(const struct symbolizer *symbolizer);

/* Accepts NULL. */
void symbolizer_close(struct symbolizer *symbolizer);

#endif
