/* SPDX-License-Identifier: MIT */
/*
 * die_names: names of functions from debug info, each computed once.
 *
 * The linkage name is preferred to the plain one. Both may be on the DIE itself, its abstract
 * origin or its specification, in another unit or file. There are two caches, because many DIEs
 * share an origin and many origins a string: DIE -> name, raw name -> demangled name.
 *
 * Invariants
 *   DN-1 Returned strings are copies. They are valid until die_names_done, also after the Dwarf was
 *        ended and begun again on the same Elf.
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
    const char *full; /* demangled; raw if that is impossible */
    bool is_plain;    /* no linkage name: raw is the source name, qualified by its scopes */
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

/* Call it before a Dwarf is ended; names stay valid. */
void die_names_forget_units(struct die_names *names);

/* As die_names_of_die, for a name from a symbol table. */
int die_names_of_symbol(struct die_names *names, const char *raw, struct function_name *ret_name,
                        struct error *err);

#endif
