/* SPDX-License-Identifier: MIT */
#include "symbolizer/elf_symbols.h"

#include "lib/base/dynamic_array.h"
#include "lib/base/lower_bound.h"
#include "symbolizer/elf_image.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* The highest rank among symbols at one address is used. */
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

/* Labels that begin with $ mark where code and data begin ($a, $t, $d, $x). */
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

/* End of the symbol's section if that is code, else 0. */
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
    struct elf_symbol *symbols = dynamic_array_reserve(table->symbols, &table->n_allocated,
                                                       table->n_symbols + 1, sizeof(*symbols));

    if (!symbols)
        return error_set(err, ERROR_NOMEM, "no memory for %zu symbols", table->n_symbols);
    table->symbols = symbols;
    symbols[table->n_symbols++] = *symbol;
    return 0;
}

/* clip_labels sets the end of symbols without a size; until then it is that of the section. */
static int add_named(struct elf_symbols *table, const GElf_Sym *symbol, const char *name,
                     uint64_t limit, struct error *err)
{
    bool is_sized = symbol->st_size > 0;

    if (limit == 0 || !is_function(symbol, name))
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

static int add_one(struct elf_symbols *table, Elf *elf, const GElf_Sym *symbol, size_t strings,
                   struct error *err)
{
    const char *name = elf_strptr(elf, strings, symbol->st_name);

    return name && *name ? add_named(table, symbol, name, code_end(elf, symbol), err) : 0;
}

/* ---- without section headers ---- */

struct dynamic_tables {
    uint64_t symbols, strings, n_string_bytes, hash, gnu_hash; /* addresses; 0: none */
};

/* Bytes of the file that are loaded at an address; NULL: none. */
static Elf_Data *loaded_bytes(Elf *elf, uint64_t address, uint64_t n_bytes, Elf_Type type)
{
    size_t n;
    GElf_Phdr program;

    for (size_t i = 0; elf_getphdrnum(elf, &n) == 0 && i < n && i < INT32_MAX; i++)
        if (gelf_getphdr(elf, (int)i, &program) && program.p_type == PT_LOAD
            && address >= program.p_vaddr && address - program.p_vaddr < program.p_filesz
            && n_bytes <= program.p_filesz - (address - program.p_vaddr))
            return elf_getdata_rawchunk(
                elf, (int64_t)(program.p_offset + address - program.p_vaddr), n_bytes, type);
    return NULL;
}

static Elf_Data *dynamic_section(Elf *elf)
{
    size_t n;
    GElf_Phdr program;

    for (size_t i = 0; elf_getphdrnum(elf, &n) == 0 && i < n && i < INT32_MAX; i++)
        if (gelf_getphdr(elf, (int)i, &program) && program.p_type == PT_DYNAMIC)
            return elf_getdata_rawchunk(elf, (int64_t)program.p_offset, program.p_filesz,
                                        ELF_T_DYN);
    return NULL;
}

static struct dynamic_tables read_dynamic(Elf *elf)
{
    struct dynamic_tables tables = {0};
    Elf_Data *data = dynamic_section(elf);
    GElf_Dyn entry;

    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if (entry.d_tag == DT_SYMTAB)
            tables.symbols = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRTAB)
            tables.strings = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            tables.n_string_bytes = entry.d_un.d_val;
        else if (entry.d_tag == DT_HASH)
            tables.hash = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_GNU_HASH)
            tables.gnu_hash = entry.d_un.d_ptr;
    }
    return tables;
}

/* Word `i` of a hash table; 0: missing. */
static uint32_t word_at(Elf *elf, uint64_t table, uint64_t i)
{
    const Elf_Data *data = loaded_bytes(elf, table + 4 * i, 4, ELF_T_WORD);

    return data ? *(const uint32_t *)data->d_buf : 0;
}

/* The last symbol of a chain has the lowest bit set; the chain of the highest bucket ends the
 * table. */
static uint64_t count_by_gnu_hash(Elf *elf, uint64_t table)
{
    uint64_t n_buckets = word_at(elf, table, 0);
    uint64_t first = word_at(elf, table, 1);
    uint64_t buckets =
        4 + (uint64_t)word_at(elf, table, 2) * (gelf_getclass(elf) == ELFCLASS32 ? 1 : 2);
    Elf_Data *data = loaded_bytes(elf, table + 4 * buckets, 4 * n_buckets, ELF_T_WORD);
    const uint32_t *heads = data ? data->d_buf : NULL;
    uint64_t last = 0;

    for (uint64_t i = 0; heads && i < n_buckets; i++)
        last = heads[i] > last ? heads[i] : last;
    if (last < first)
        return first;
    while (loaded_bytes(elf, table + 4 * (buckets + n_buckets + last - first), 4, ELF_T_WORD)
           && !(word_at(elf, table, buckets + n_buckets + last - first) & 1))
        last++;
    return last + 1;
}

/* End of the executable segment that contains the symbol, else 0. */
static uint64_t segment_end(Elf *elf, uint64_t address)
{
    size_t n;
    GElf_Phdr program;

    for (size_t i = 0; elf_getphdrnum(elf, &n) == 0 && i < n && i < INT32_MAX; i++)
        if (gelf_getphdr(elf, (int)i, &program) && program.p_type == PT_LOAD
            && (program.p_flags & PF_X) && address >= program.p_vaddr
            && address - program.p_vaddr < program.p_memsz)
            return program.p_vaddr + program.p_memsz;
    return 0;
}

static int add_dynamic(struct elf_symbols *table, Elf *elf, struct error *err)
{
    struct dynamic_tables tables = read_dynamic(elf);
    uint64_t n = tables.hash ? word_at(elf, tables.hash, 1)
                             : (tables.gnu_hash ? count_by_gnu_hash(elf, tables.gnu_hash) : 0);
    size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    Elf_Data *symbols = loaded_bytes(elf, tables.symbols, n * entry_bytes, ELF_T_SYM);
    Elf_Data *strings = loaded_bytes(elf, tables.strings, tables.n_string_bytes, ELF_T_BYTE);
    uint64_t mode_bits = elf_image_machine(elf).mode_bits;
    GElf_Sym symbol;
    int status = 0;

    if (!symbols || !strings || strings->d_size == 0
        || ((const char *)strings->d_buf)[strings->d_size - 1] != '\0')
        return 0;
    for (uint64_t i = 0;
         status == 0 && i < n && i < INT32_MAX && gelf_getsym(symbols, (int)i, &symbol); i++) {
        const char *name =
            symbol.st_name < strings->d_size ? (const char *)strings->d_buf + symbol.st_name : "";
        symbol.st_value &= ~mode_bits;
        if (*name)
            status = add_named(table, &symbol, name, segment_end(elf, symbol.st_value), err);
    }
    return status;
}

int elf_symbols_add(struct elf_symbols *table, Elf *elf, struct error *err)
{
    GElf_Shdr header;
    Elf_Scn *section = find_section(elf, SHT_SYMTAB, &header);
    uint64_t mode_bits = elf_image_machine(elf).mode_bits;
    Elf_Data *data;
    size_t n_symbols;

    if (!section)
        section = find_section(elf, SHT_DYNSYM, &header);
    if (!section && !elf_getscn(elf, 1))
        return add_dynamic(table, elf, err);
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

/* Searches backwards from the last start at or before the address: the first match starts latest,
 * and aliases are sorted so that the shortest and best known name comes last. */
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
