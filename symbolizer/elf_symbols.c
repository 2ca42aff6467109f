/* SPDX-License-Identifier: MIT */
#include "symbolizer/elf_symbols.h"

#include "support/growing.h"
#include "support/lower_bound.h"
#include "symbolizer/elf_machine.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Higher wins among symbols at one address. */
enum {
    RANK_TYPED = 8, /* STT_FUNC over a bare label */
    RANK_GLOBAL = 4,
    RANK_WEAK = 2,
    RANK_PUBLIC = 1 /* no leading underscore */
};

static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *ret_header)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, ret_header) && ret_header->sh_type == type)
            return section;
    return NULL;
}

bool elf_symbols_has_symtab(Elf *elf)
{
    GElf_Shdr header;

    return find_section(elf, SHT_SYMTAB, &header) != NULL;
}

/* Labels whose names begin with $ say where code and data begin ($a, $t, $d, $x). */
static bool is_function(const GElf_Sym *symbol, const char *name)
{
    int type = GELF_ST_TYPE(symbol->st_info);

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
        return false;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return true;
    return type == STT_NOTYPE && name[0] != '$' && name[0] != '.';
}

static unsigned rank_of(const GElf_Sym *symbol, const char *name)
{
    unsigned rank = name[0] == '_' ? 0 : RANK_PUBLIC;

    if (GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE)
        rank += RANK_TYPED;
    if (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL)
        rank += RANK_GLOBAL;
    else if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
        rank += RANK_WEAK;
    return rank;
}

/* End of the section that holds the symbol when it is code, else 0. */
static uint64_t code_end(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr header;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);

    if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
        return 0;
    return symbol->st_value >= header.sh_addr && symbol->st_value - header.sh_addr < header.sh_size
               ? header.sh_addr + header.sh_size
               : 0;
}

static int push(struct elf_symbols *table, const struct elf_symbol *symbol, struct error *err)
{
    struct elf_symbol *symbols = growing_reserve(table->symbols, &table->n_allocated,
                                                 table->n_symbols + 1, sizeof(*symbols));

    if (!symbols)
        return error_set(err, ERROR_NOMEM, "no memory for %zu symbols", table->n_symbols);
    table->symbols = symbols;
    symbols[table->n_symbols++] = *symbol;
    return 0;
}

/* Symbols without a size get their end from clip_labels; until then it is the section's. */
static int add_one(struct elf_symbols *table, Elf *elf, const GElf_Sym *symbol, size_t strings,
                   struct error *err)
{
    bool is_sized = symbol->st_size > 0;
    const char *name = elf_strptr(elf, strings, symbol->st_name);
    uint64_t limit;

    if (!name || !*name || !is_function(symbol, name))
        return 0;
    limit = code_end(elf, symbol);
    if (limit == 0)
        return 0;
    if (is_sized && symbol->st_size < limit - symbol->st_value)
        limit = symbol->st_value + symbol->st_size;
    return push(table,
                &(struct elf_symbol){.start = symbol->st_value,
                                     .end = limit,
                                     .name = name,
                                     .rank = rank_of(symbol, name),
                                     .is_sized = is_sized},
                err);
}

int elf_symbols_add(struct elf_symbols *table, Elf *elf, struct error *err)
{
    GElf_Shdr header;
    Elf_Scn *section = find_section(elf, SHT_SYMTAB, &header);
    uint64_t mode_bits = elf_machine_of(elf).mode_bits;
    Elf_Data *data;
    size_t n_symbols;

    if (!section)
        section = find_section(elf, SHT_DYNSYM, &header);
    data = section ? elf_getdata(section, NULL) : NULL;
    if (!data || header.sh_entsize == 0)
        return 0;
    n_symbols = data->d_size / header.sh_entsize;
    for (size_t i = 0; i < n_symbols && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        int status;
        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        symbol.st_value &= ~mode_bits;
        status = add_one(table, elf, &symbol, header.sh_link, err);
        if (status)
            return status;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct elf_symbol *x = a;
    const struct elf_symbol *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return -strcmp(x->name, y->name);
}

static void clip_labels(struct elf_symbols *table)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = table->n_symbols; i-- > 0;) {
        struct elf_symbol *symbol = &table->symbols[i];
        if (i + 1 < table->n_symbols && symbol[1].start > symbol->start)
            next = symbol[1].start;
        if (!symbol->is_sized && symbol->end > next)
            symbol->end = next;
    }
}

int elf_symbols_sort(struct elf_symbols *table, struct error *err)
{
    uint64_t reach = 0;

    if (table->n_symbols == 0)
        return 0;
    qsort(table->symbols, table->n_symbols, sizeof(*table->symbols), compare);
    clip_labels(table);
    table->reach = malloc(table->n_symbols * sizeof(*table->reach));
    if (!table->reach)
        return error_set(err, ERROR_NOMEM, "no memory for %zu symbols", table->n_symbols);
    for (size_t i = 0; i < table->n_symbols; i++) {
        if (table->symbols[i].end > reach)
            reach = table->symbols[i].end;
        table->reach[i] = reach;
    }
    return 0;
}

/* Backwards from the last start at or before the address: the first that holds it starts latest,
 * and the sort put the shortest and best known name behind its aliases. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *table, uint64_t address)
{
    const struct elf_symbol *label = NULL;
    size_t i;

    LOWER_BOUND(i, table->n_symbols, table->symbols[i].start <= address);
    for (; i > 0 && table->reach[i - 1] > address; i--) {
        const struct elf_symbol *symbol = &table->symbols[i - 1];
        if (symbol->end > address && symbol->is_sized)
            return symbol;
        if (symbol->end > address && !label)
            label = symbol;
    }
    return label;
}

void elf_symbols_done(struct elf_symbols *table)
{
    free(table->symbols);
    free(table->reach);
    memset(table, 0, sizeof(*table));
}
