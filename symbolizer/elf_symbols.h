/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols: symbol tables, for addresses without debug info.
 *
 * Contains all function symbols of one or more ELF files of the same object, sorted by address. A
 * symbol without a size extends to the next one, or to the end of its section. Names belong to the
 * ELF files, which must outlive the table.
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
    unsigned rank; /* the alias with the highest rank is shown */
    bool is_sized; /* false: a label; an enclosing function is preferred */
};

struct elf_symbols {
    struct elf_symbol *symbols;
    uint64_t *reach; /* highest end of symbols[0..i] */
    size_t n_symbols;
    size_t n_allocated;
};

/* Adds .symtab, else .dynsym; without section headers the tables of PT_DYNAMIC. Damaged tables are
 * added as far as readable. */
int elf_symbols_add(struct elf_symbols *table, Elf *elf, struct error *err);

/* Call it once between the last add and the first find. */
int elf_symbols_sort(struct elf_symbols *table, struct error *err);

/* The symbol that contains the address: the innermost one, and of aliases the best known name. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *table, uint64_t address);

bool elf_symbols_has_symtab(Elf *elf);
void elf_symbols_done(struct elf_symbols *table);

#endif
