/* SPDX-License-Identifier: MIT */
#include "collector/os/elf_lookup.h"

#include "collector/os/fmt.h"
#include "collector/os/sys.h"

#include <stdbool.h>
#include <stddef.h>
#if defined(__aarch64__)
#    include <sys/ifunc.h>
#endif

enum {
    VERSION_HIDDEN = 0x8000,
    VERSION_LOCAL = 0,
#if ELF_LOOKUP_ADDS_IN_PLACE
    TAG_RELOCATIONS = DT_REL,
    TAG_RELOCATION_BYTES = DT_RELSZ,
#else
    TAG_RELOCATIONS = DT_RELA,
    TAG_RELOCATION_BYTES = DT_RELASZ,
#endif
};

/* ld.so relocates the pointers of a dynamic section in place, but not the vdso's. */
static const void *dynamic_pointer(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

bool elf_lookup_is_vdso(const struct link_map *map)
{
    return fmt_after_prefix(map->l_name, "linux-vdso")
           || fmt_after_prefix(map->l_name, "linux-gate"); /* of i386 */
}

struct elf_lookup elf_lookup_open(const struct link_map *map)
{
    struct elf_lookup object = {.load_address = map->l_addr};

    for (const ElfW(Dyn) *dynamic = map->l_ld; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *pointer = dynamic_pointer(map, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object.symbols = pointer;
            break;
        case DT_STRTAB:
            object.strings = pointer;
            break;
        case DT_VERSYM:
            object.versions = pointer;
            break;
        case DT_GNU_HASH:
            object.gnu_hash = pointer;
            break;
        case DT_HASH:
            object.sysv_hash = pointer;
            break;
#if defined(__mips__)
        case DT_MIPS_SYMTABNO: /* AArch64 uses this number for something else */
            object.n_symbols = dynamic->d_un.d_val;
            break;
#endif
        case TAG_RELOCATIONS:
            object.relocations = pointer;
            break;
        case TAG_RELOCATION_BYTES:
            object.n_relocations = dynamic->d_un.d_val / sizeof(elf_lookup_relocation);
            break;
        case DT_JMPREL:
            object.plt_relocations = pointer;
            break;
        case DT_PLTRELSZ:
            object.n_plt_relocations = dynamic->d_un.d_val / sizeof(elf_lookup_relocation);
            break;
        default:
            break;
        }
    }
    return object;
}

static bool is_definition(const struct elf_lookup *object, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &object->symbols[index];
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
        return false;
    if (binding != STB_GLOBAL && binding != STB_WEAK && binding != STB_GNU_UNIQUE)
        return false;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE && type != STT_OBJECT)
        return false;
    if (object->versions
        && ((object->versions[index] & VERSION_HIDDEN) || object->versions[index] == VERSION_LOCAL))
        return false;
    return fmt_is_equal(object->strings + symbol->st_name, name);
}

static const ElfW(Sym) * find_by_gnu_hash(const struct elf_lookup *object, const char *name)
{
    const uint32_t *table = object->gnu_hash;
    uint32_t n_buckets = table[0];
    uint32_t first_symbol = table[1];
    const uint32_t *buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + n_buckets;
    uint32_t hash = 5381;
    uint32_t index;

    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    if (n_buckets == 0 || (index = buckets[hash % n_buckets]) < first_symbol)
        return NULL;
    for (;; index++) {
        uint32_t entry = chain[index - first_symbol];
        if ((entry | 1) == (hash | 1) && is_definition(object, index, name))
            return &object->symbols[index];
        if (entry & 1)
            return NULL;
    }
}

static const ElfW(Sym) * find_by_sysv_hash(const struct elf_lookup *object, const char *name)
{
    uint32_t n_buckets = object->sysv_hash[0];
    const uint32_t *buckets = object->sysv_hash + 2;
    const uint32_t *chain = buckets + n_buckets;
    uint32_t hash = 0;

    for (const char *c = name; *c; c++) {
        uint32_t high;
        hash = (hash << 4) + (unsigned char)*c;
        high = hash & 0xf0000000u;
        hash = (hash ^ high >> 24) & ~high;
    }
    for (uint32_t index = n_buckets ? buckets[hash % n_buckets] : 0; index; index = chain[index])
        if (is_definition(object, index, name))
            return &object->symbols[index];
    return NULL;
}

/* MIPS objects may have only the MIPS hash table. */
static const ElfW(Sym) * find_without_hash(const struct elf_lookup *object, const char *name)
{
    for (uint32_t index = 1; index < object->n_symbols; index++)
        if (is_definition(object, index, name))
            return &object->symbols[index];
    return NULL;
}

const ElfW(Sym) * elf_lookup_find(const struct elf_lookup *object, const char *name)
{
    if (!object->symbols || !object->strings)
        return NULL;
    if (object->gnu_hash)
        return find_by_gnu_hash(object, name);
    return object->sysv_hash ? find_by_sysv_hash(object, name) : find_without_hash(object, name);
}

/* IFUNC resolvers of these two processors get the processor's features as arguments, as from
 * glibc's ld.so (elf_ifunc_invoke). */
static void *ask_resolver(uintptr_t resolver)
{
#if defined(__aarch64__)
    const __ifunc_arg_t more = {sizeof(more), sys_auxiliary_value(AT_HWCAP),
                                sys_auxiliary_value(AT_HWCAP2)};

    return ((void *(*)(uint64_t, const __ifunc_arg_t *))resolver)(more._hwcap | _IFUNC_ARG_HWCAP,
                                                                  &more);
#elif defined(__arm__)
    return ((void *(*)(unsigned long))resolver)(sys_auxiliary_value(AT_HWCAP));
#else
    return ((void *(*)(void))resolver)();
#endif
}

void *elf_lookup_resolve(const struct elf_lookup *object, const ElfW(Sym) * symbol)
{
    uintptr_t address =
        symbol->st_shndx == SHN_ABS ? symbol->st_value : object->load_address + symbol->st_value;

    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ask_resolver(address);
    return (void *)address;
}
