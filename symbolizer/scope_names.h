/* SPDX-License-Identifier: MIT */
/*
 * scope_names: the name of a function's DIE, and the C++ scopes of one without a linkage name.
 *
 * The name may be on the DIE itself, its abstract origin or its specification.
 *
 * Compilers omit linkage names of functions that no other unit can name: members of local classes,
 * lambdas, and templates instantiated with them. Debug info says "operator()"; with its scopes the
 * name is "main::{lambda#1}::operator()". A DIE does not know its parent. So the entries of the
 * unit and its namespaces are listed in one walk on first use, and the path is searched from there
 * downwards.
 *
 * Invariants
 *   SN-1 One unit is listed at a time; no list outlives scope_names_forget.
 *
 * Threads: one user at a time. Errors: memory; damaged units have fewer scopes.
 */
#ifndef MTRACE_SYMBOLIZER_SCOPE_NAMES_H
#define MTRACE_SYMBOLIZER_SCOPE_NAMES_H

#include "lib/base/error.h"
#include "symbolizer/die_reader.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

struct scope_entry {
    const unsigned char *at;
    uint32_t parent; /* index of the enclosing namespace, UINT32_MAX: the unit */
    uint32_t tag;
};

struct scope_names {
    struct die_reader reader;
    const void *unit;            /* the listed unit; NULL: none */
    struct scope_entry *entries; /* ascending by place */
    size_t n_entries, n_allocated;
};

/* Returns the plain name qualified by its scopes, to be freed; NULL: there are no scopes, or this
 * is not C++. `die` is the declaration, to which origins and specifications lead. Zero `scopes`
 * before the first use. */
int scope_names_qualify(struct scope_names *scopes, Dwarf_Die *die, const char *plain,
                        char **ret_name, struct error *err);

/* Call it before a Dwarf is ended. */
void scope_names_forget(struct scope_names *scopes);

void scope_names_done(struct scope_names *scopes);

/* Goes from a DIE to its origin or specification; false: it has none. */
bool scope_names_follow(Dwarf_Die *die);

/* Returns the linkage name, else the plain one (ret_is_plain), else NULL. Moves the DIE to the last
 * one that was examined: for a plain name that is the declaration. */
const char *scope_names_raw(Dwarf_Die *die, bool *ret_is_plain);

#endif
