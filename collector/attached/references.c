/* SPDX-License-Identifier: MIT */
#include "collector/attached/references.h"

#include "collector/arch/arch.h"
#include "collector/platform/elf_lookup.h"
#include "collector/platform/fmt.h"
#include "collector/platform/real.h"
#include "collector/platform/sys.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum {
    N_BUCKETS = 256,     /* twice as many as names, or more */
    POPULATE_WRITE = 23, /* MADV_POPULATE_WRITE, of Linux 5.14 */
    NAP_NS = 100000,
    MOST_NAPS = 10000,
};

static const struct reference *g_references;
static uint8_t g_buckets[N_BUCKETS]; /* number of a reference plus one, 0: none */
static _Atomic bool g_is_busy;
static _Atomic uint32_t g_n_unloading; /* threads in dlclose */

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;

    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash ^ hash >> 15;
}

void references_init(const struct reference *references, size_t n)
{
    if (g_references)
        return;
    g_references = references;
    for (size_t i = 0; i < n && i < REFERENCES_MOST; i++) {
        uint32_t at = hash_of(references[i].name) % N_BUCKETS;
        while (g_buckets[at])
            at = (at + 1) % N_BUCKETS;
        g_buckets[at] = (uint8_t)(i + 1);
    }
}

static const struct reference *find(const char *name)
{
    for (uint32_t at = hash_of(name) % N_BUCKETS; g_buckets[at]; at = (at + 1) % N_BUCKETS) {
        const struct reference *reference = &g_references[g_buckets[at] - 1];
        if (fmt_is_equal(reference->name, name))
            return reference;
    }
    return NULL;
}

/* ---- a module ----------------------------------------------------------------------------------- */

/* What is done in a module, and what of it was read-only when that began. */
struct visit {
    const struct link_map *map;
    struct elf_lookup object;
    uintptr_t start, end;                     /* of the module in memory; 0: not known */
    uintptr_t protected_start, protected_end; /* by ld.so once it is relocated */
    bool to_us;
    bool is_writable; /* what is protected elsewhere */
    bool is_open;
};

static const ElfW(Phdr) * find_headers(uintptr_t start, size_t *ret_n)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;

    if (!start || header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1
        || header->e_phoff > ARCH_PAGE_BYTES
        || header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > ARCH_PAGE_BYTES)
        return NULL;
    *ret_n = header->e_phnum;
    return (const ElfW(Phdr) *)(start + header->e_phoff);
}

/* As ld.so rounds them. */
static bool look_at(struct visit *visit)
{
    struct dl_find_object found;
    const ElfW(Phdr) * headers;
    size_t n = 0;

    if (!visit->map->l_ld || _dl_find_object(visit->map->l_ld, &found) != 0)
        return false;
    visit->start = (uintptr_t)found.dlfo_map_start;
    visit->end = (uintptr_t)found.dlfo_map_end;
    headers = find_headers(visit->start, &n);
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = visit->map->l_addr + headers[i].p_vaddr;
        if (headers[i].p_type != PT_GNU_RELRO)
            continue;
        visit->protected_start = at & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);
        visit->protected_end = (at + headers[i].p_memsz) & ~(uintptr_t)(ARCH_PAGE_BYTES - 1);
    }
    return headers != NULL;
}

static bool is_writable(uintptr_t page)
{
    return sys_advise((void *)page, ARCH_PAGE_BYTES, POPULATE_WRITE) >= 0;
}

static bool open_protected(struct visit *visit)
{
    if (!visit->is_open)
        visit->is_open =
            sys_protect(visit->protected_start, visit->protected_end - visit->protected_start,
                        PROT_READ | PROT_WRITE)
            >= 0;
    return visit->is_open;
}

/* RF-1 */
static void change(struct visit *visit, uintptr_t slot, uintptr_t from, uintptr_t to)
{
    bool is_protected = slot >= visit->protected_start && slot < visit->protected_end;

    if (!is_protected || visit->is_writable || open_protected(visit))
        (void)__atomic_compare_exchange_n((uintptr_t *)slot, &from, to, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED);
}

/* RF-2: relocated by ld.so, it leads into the module itself, from where ld.so is called. */
static bool is_unresolved(const struct visit *visit, const ElfW(Rela) * relocation,
                          const ElfW(Sym) * symbol, uintptr_t value)
{
    return ELF64_R_TYPE(relocation->r_info) == ARCH_RELOCATION_CALL && symbol->st_shndx == SHN_UNDEF
           && value >= visit->start && value < visit->end;
}

static void lead_slot(struct visit *visit, const ElfW(Rela) * relocation)
{
    const ElfW(Sym) *symbol = &visit->object.symbols[ELF64_R_SYM(relocation->r_info)];
    const struct reference *reference = find(visit->object.strings + symbol->st_name);
    uintptr_t slot = visit->map->l_addr + relocation->r_offset;
    uintptr_t behind = reference ? (uintptr_t)real_behind(reference->offset) : 0;
    uintptr_t ours = reference ? (uintptr_t)reference->ours : 0;
    uintptr_t value;

    if (!behind || slot % sizeof(slot) != 0 || slot < visit->start || slot >= visit->end)
        return;
    value = __atomic_load_n((const uintptr_t *)slot, __ATOMIC_RELAXED);
    if (!visit->to_us && value == ours)
        change(visit, slot, ours, behind);
    else if (visit->to_us && (value == behind || is_unresolved(visit, relocation, symbol, value)))
        change(visit, slot, value, ours);
}

static void lead_table(struct visit *visit, const ElfW(Rela) * relocations, size_t n)
{
    for (size_t i = 0; relocations && i < n; i++) {
        unsigned type = ELF64_R_TYPE(relocations[i].r_info);
        if (ELF64_R_SYM(relocations[i].r_info) != 0 && relocations[i].r_addend == 0
            && (type == ARCH_RELOCATION_CALL || type == ARCH_RELOCATION_DATA
                || type == ARCH_RELOCATION_WORD))
            lead_slot(visit, &relocations[i]);
    }
}

/* ld.so has no relocations for those: it found the functions itself. */
static void lead_loader(struct visit *visit)
{
    static const char *const names[] = {"malloc", "free", "calloc", "realloc"};
    uintptr_t at = visit->protected_start;

    for (; at < visit->protected_end; at += sizeof(at))
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            const struct reference *reference = find(names[i]);
            uintptr_t behind = (uintptr_t)real_behind(reference->offset);
            uintptr_t ours = (uintptr_t)reference->ours;
            uintptr_t from = visit->to_us ? behind : ours;
            if (from && *(const uintptr_t *)at == from)
                change(visit, at, from, visit->to_us ? ours : behind);
        }
}

static bool lead_module(const struct link_map *map, bool to_us, bool knows_writable)
{
    struct visit visit = {.map = map, .object = elf_lookup_open(map), .to_us = to_us};

    if (!visit.object.symbols || !visit.object.strings || !look_at(&visit))
        return true;
    visit.is_writable = knows_writable && visit.protected_start < visit.protected_end
                        && is_writable(visit.protected_start);
    if (visit.is_writable && to_us)
        return false;
    lead_table(&visit, visit.object.relocations, visit.object.n_relocations);
    lead_table(&visit, visit.object.plt_relocations, visit.object.n_plt_relocations);
    if (map->l_addr == getauxval(AT_BASE))
        lead_loader(&visit);
    if (visit.is_open)
        sys_protect(visit.protected_start, visit.protected_end - visit.protected_start, PROT_READ);
    return true;
}

struct look {
    bool to_us, knows_writable, is_all;
};

/* Not ours: what we call is meant. */
static void lead_all(struct look *look)
{
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next)
        if (map->l_ld != _DYNAMIC)
            look->is_all &= lead_module(map, look->to_us, look->knows_writable);
}

/* Called for the first module alone: ld.so keeps all of them until it returns. */
static int lead_all_kept(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info, (void)size;
    lead_all(context);
    return 1;
}

bool references_lead(bool to_us, bool may_wait)
{
    struct look look = {
        .to_us = to_us,
        .knows_writable = is_writable((uintptr_t)g_buckets & ~(uintptr_t)(ARCH_PAGE_BYTES - 1)),
        .is_all = true,
    };

    if (atomic_exchange(&g_is_busy, true))
        return false;
    if (may_wait)
        dl_iterate_phdr(lead_all_kept, &look);
    else if (atomic_load(&g_n_unloading) == 0)
        lead_all(&look);
    else
        look.is_all = false;
    atomic_store(&g_is_busy, false);
    return look.is_all;
}

/* RF-4. Who may wait has ld.so wait for it. */
void references_begin_unloading(void)
{
    atomic_fetch_add(&g_n_unloading, 1);
    for (int i = 0; i < MOST_NAPS && atomic_load(&g_is_busy); i++)
        sys_nap(NAP_NS);
}

void references_end_unloading(void)
{
    atomic_fetch_sub(&g_n_unloading, 1);
}

void references_forget(void)
{
    atomic_store(&g_is_busy, false);
    atomic_store(&g_n_unloading, 0);
}
