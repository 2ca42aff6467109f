/* SPDX-License-Identifier: MIT */
/*
 * scope_names: where a function without a linkage name is declared, as C++ writes it.
 *
 * Model:   compilers leave linkage names away for what no other unit can name: members of local
 *          classes and lambdas, and instances of templates over them. Debug info says "operator()";
 *          what is around it gives "main::{lambda#1}::operator()". A DIE does not know its parent:
 *          what stands in the unit itself and in its namespaces is listed in one walk, when first
 *          asked for, and from there the way is searched downwards.
 * Invariants
 *   SN-1 One unit is listed at a time; no list outlives scope_names_forget.
 * Threads: one user at a time.
 * Failure: memory only; what is damaged has fewer scopes.
 */
#ifndef MTRACE_SYMBOLIZER_SCOPE_NAMES_H
#define MTRACE_SYMBOLIZER_SCOPE_NAMES_H

#include "lib/base/error.h"
#include "symbolizer/die_reader.h"

struct scope_entry {
    const unsigned char *at;
    uint32_t parent; /* index of the namespace around, UINT32_MAX: the unit */
    uint32_t tag;
};

struct scope_names {
    struct die_reader reader;
    const void *unit;            /* which is listed; NULL: none */
    struct scope_entry *entries; /* ascending by place */
    size_t n_entries, n_allocated;
};

/* The plain name behind its scopes, to be freed; NULL: it has none, or this is not C++. `die` is
 * the declaration: what origins and specifications lead to. `scopes` was zeroed before. */
int scope_names_qualify(struct scope_names *scopes, Dwarf_Die *die, const char *plain,
                        char **ret_name, struct error *err);

/* To be called before a Dwarf is ended. */
void scope_names_forget(struct scope_names *scopes);

void scope_names_done(struct scope_names *scopes);

#endif
