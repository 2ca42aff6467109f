/* SPDX-License-Identifier: MIT */
/*
 * elf_lookup: symbols of a loaded object, from its dynamic section, without ld.so.
 *
 * Finds what ld.so finds for an unversioned reference: the default version of a name (versym
 * without the hidden bit), defined, global or weak.
 *
 * Any thread. Async-signal-safe. NULL if not found.
 */
#ifndef MTRACE_COLLECTOR_ELF_LOOKUP_H
#define MTRACE_COLLECTOR_ELF_LOOKUP_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some processors store the addend in the relocated place, others next to the symbol. */
#if defined(__i386__) || defined(__arm__) || defined(__mips__)
#    define ELF_LOOKUP_ADDS_IN_PLACE 1
typedef ElfW(Rel) elf_lookup_relocation;
#else
#    define ELF_LOOKUP_ADDS_IN_PLACE 0
typedef ElfW(Rela) elf_lookup_relocation;
#endif

#if defined(__mips64)

/* MIPS 64: the symbol is the low half; above it are a byte for another symbol and up to three
 * types, the first one highest. */
static inline unsigned elf_lookup_type(const elf_lookup_relocation *relocation)
{
    return (unsigned)(relocation->r_info >> 56);
}

static inline size_t elf_lookup_symbol(const elf_lookup_relocation *relocation)
{
    return (uint32_t)relocation->r_info;
}

#else

static inline unsigned elf_lookup_type(const elf_lookup_relocation *relocation)
{
    return sizeof(ElfW(Addr)) == 4 ? ELF32_R_TYPE(relocation->r_info)
                                   : ELF64_R_TYPE(relocation->r_info);
}

static inline size_t elf_lookup_symbol(const elf_lookup_relocation *relocation)
{
    return sizeof(ElfW(Addr)) == 4 ? ELF32_R_SYM(relocation->r_info)
                                   : (size_t)((uint64_t)relocation->r_info >> 32);
}

#endif

/* The addend; 0 if it is in the place itself. */
static inline int64_t elf_lookup_addend(const elf_lookup_relocation *relocation)
{
#if ELF_LOOKUP_ADDS_IN_PLACE
    (void)relocation;
    return 0;
#else
    return relocation->r_addend;
#endif
}

struct elf_lookup {
    uintptr_t load_address;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Half) * versions;                                /* NULL: none */
    const uint32_t *gnu_hash;                                   /* NULL: none */
    const uint32_t *sysv_hash;                                  /* NULL: none */
    const elf_lookup_relocation *relocations, *plt_relocations; /* NULL: none */
    size_t n_relocations, n_plt_relocations;
    size_t n_symbols; /* where the dynamic section says so (MIPS), else 0 */
};

/* The kernel's own object. */
bool elf_lookup_is_vdso(const struct link_map *map);

/* Describes the object of `map`; stores no reference to it. */
struct elf_lookup elf_lookup_open(const struct link_map *map);

/* The definition of `name`, or NULL. */
const ElfW(Sym) * elf_lookup_find(const struct elf_lookup *object, const char *name);

/* What calls of the symbol reach: its address, or the result of its IFUNC resolver. */
void *elf_lookup_resolve(const struct elf_lookup *object, const ElfW(Sym) * symbol);

#endif
