/* SPDX-License-Identifier: MIT */
/*
 * elf_lookup: symbols of a loaded object, from its dynamic section, without ld.so's help.
 *
 * Model:   what ld.so does for an unversioned reference: the default version of a name (versym
 *          without the hidden bit), defined, global or weak.
 * Threads: any. Signals: safe. Failure: NULL.
 */
#ifndef MTRACE_COLLECTOR_ELF_LOOKUP_H
#define MTRACE_COLLECTOR_ELF_LOOKUP_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct elf_lookup {
    uintptr_t load_address;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions;                      /* NULL: none */
    const uint32_t *gnu_hash;                         /* NULL: none */
    const uint32_t *sysv_hash;                        /* NULL: none */
    const ElfW(Rela) * relocations, *plt_relocations; /* NULL: none */
    size_t n_relocations, n_plt_relocations;
};

/* Describes the object of `map`; keeps nothing of it. */
struct elf_lookup elf_lookup_open(const struct link_map *map);

/* The definition of `name`, or NULL. */
const ElfW(Sym) * elf_lookup_find(const struct elf_lookup *object, const char *name);

/* What calls of the symbol reach: its address, or the answer of its IFUNC resolver. */
void *elf_lookup_resolve(const struct elf_lookup *object, const ElfW(Sym) * symbol);

#endif
