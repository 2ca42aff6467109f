/* SPDX-License-Identifier: MIT */
/*
 * die_names: names of functions from debug info, each worked out once.
 *
 * Model: the linkage name wins over the plain one; both may be on the DIE itself, its abstract
 *        origin or its specification, in another unit or another file. Two caches, because many
 *        DIEs share an origin and many origins a string: DIE -> name, raw name -> demangled name.
 * Invariants: DN-1 returned strings stay valid until die_names_done, also when the Dwarf is ended
 *             and begun again on the same Elf: they are copies.
 */
#ifndef MTRACE_SYMBOLIZER_DIE_NAMES_H
#define MTRACE_SYMBOLIZER_DIE_NAMES_H

#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/base/intern.h"
#include "symbolizer/scope_names.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_name {
    const char *raw;  /* NULL: the function has no name */
    const char *full; /* demangled; raw where that makes no sense */
    bool is_plain; /* it has no linkage name: raw is what the source calls it, behind the names of
                    * the scopes around it */
};

struct die_names {
    struct intern raw;  /* number = index into full */
    struct intern text; /* demangled ones */
    const char **full;
    size_t n_full_allocated;
    struct hash_map dies; /* names by DIE address */
    struct scope_names scopes;
};

void die_names_init(struct die_names *names);
void die_names_done(struct die_names *names);

int die_names_of_die(struct die_names *names, Dwarf_Die *die, struct function_name *ret_name,
                     struct error *err);

/* To be called before a Dwarf is ended; names stay. */
void die_names_forget_units(struct die_names *names);

/* The same for a name from a symbol table. */
int die_names_of_symbol(struct die_names *names, const char *raw, struct function_name *ret_name,
                        struct error *err);

#endif
