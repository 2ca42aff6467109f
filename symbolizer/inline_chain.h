/* SPDX-License-Identifier: MIT */
/*
 * inline_chain: the functions around positions of one compilation unit, including inlined ones.
 *
 * One walk over the DIEs of the unit handles all its positions. A DIE whose address ranges contain
 * no position is skipped with its children. Each concrete function or inlined call that contains
 * one is a scope; a scope knows the enclosing scope. DWARF 2 has one range per DIE, and compilers
 * write the first of several: there an inlined call also contains what its inner calls contain.
 *
 * Invariants
 *   IC-1 scopes[i].outer < i, or SCOPE_NONE for a function itself.
 *   IC-2 innermost[k] is the deepest scope that contains positions[k]; of overlapping siblings,
 *        which compilers do emit, the smaller one.
 *
 * Errors: memory; a damaged unit has fewer scopes.
 */
#ifndef MTRACE_SYMBOLIZER_INLINE_CHAIN_H
#define MTRACE_SYMBOLIZER_INLINE_CHAIN_H

#include "lib/base/error.h"
#include "symbolizer/die_reader.h"

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define SCOPE_NONE UINT32_MAX
#define FILE_NONE  UINT32_MAX

struct scope {
    Dwarf_Die die;
    uint64_t size_bytes;
    uint32_t outer;
    uint32_t call_file; /* of an inlined call, in the outer scope; FILE_NONE: unknown */
    uint32_t call_line; /* 0: unknown */
    uint32_t call_column;
};

struct code_range {
    uint64_t start, end;
};

struct inline_chain {
    struct die_reader reader;
    struct code_range *ranges; /* of the current DIE */
    size_t n_ranges, n_ranges_allocated;
    struct scope *scopes;
    size_t n_scopes;
    size_t n_scopes_allocated;
    uint32_t *innermost; /* per position */
    size_t n_allocated;
};

/* `addresses` are ascending. Reuses the memory of the previous walk. */
int inline_chain_walk(struct inline_chain *chain, Dwarf_Die *unit, const uint64_t *addresses,
                      size_t n_addresses, struct error *err);

void inline_chain_done(struct inline_chain *chain);

#endif
