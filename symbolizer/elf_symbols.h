/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols: what the symbol tables know when the debug info is silent.
 *
 * Model: all function symbols of one or more ELF files of the same object, sorted by address. A
 *        symbol without a size reaches to the next one, or to the end of its section.
 * Invariants: names belong to the ELF files, which must outlive the table.
 */
#ifndef MTRACE_SYMBOLIZER_ELF_SYMBOLS_H
#define MTRACE_SYMBOLIZER_ELF_SYMBOLS_H

#include "lib/base/error.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
    uint64_t start;
    uint64_t end;
    const char *name;
    unsigned rank; /* of aliases the highest is shown */
    bool is_sized; /* false: a label; a function around it is the better answer */
};

struct elf_symbols {
    struct elf_symbol *symbols;
    uint64_t *reach; /* highest end of symbols[0..i] */
    size_t n_symbols;
    size_t n_allocated;
};

/* Adds .symtab, or if there is none .dynsym, or without section headers what PT_DYNAMIC leads to. Damaged tables add what is readable. */
int elf_symbols_add(struct elf_symbols *table, Elf *elf, struct error *err);

/* To be called once between the last add and the first find. */
int elf_symbols_sort(struct elf_symbols *table, struct error *err);

/* The symbol that holds the address; of several the innermost, of aliases the best known name. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *table, uint64_t address);

bool elf_symbols_has_symtab(Elf *elf);
void elf_symbols_done(struct elf_symbols *table);

#endif
