/* SPDX-License-Identifier: MIT */
#include "collector/os/module_bounds.h"

#include "collector/arch/arch.h"
#include "collector/os/sys.h"

#include <dlfcn.h>

static void find_headers(struct module_bounds *bounds)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)bounds->start;

    if (!header || header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1
        || header->e_phoff > ARCH_PAGE_BYTES
        || header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > ARCH_PAGE_BYTES)
        return;
    bounds->headers = (const ElfW(Phdr) *)(bounds->start + header->e_phoff);
    bounds->n_headers = header->e_phnum;
}

static bool has_dynamic(const struct module_bounds *bounds)
{
    for (size_t i = 0; i < bounds->n_headers; i++)
        if (bounds->headers[i].p_type == PT_DYNAMIC)
            return bounds->map->l_addr + bounds->headers[i].p_vaddr == (uintptr_t)bounds->map->l_ld;
    return false;
}

/* If the executable's segments have gaps, _dl_find_object describes one segment, which need not
 * begin with the ELF header. The auxiliary vector has the headers. */
static void find_headers_of_executable(struct module_bounds *bounds)
{
    struct module_bounds found = *bounds;

    found.headers = (const ElfW(Phdr) *)sys_auxiliary_value(AT_PHDR);
    found.n_headers = found.headers ? sys_auxiliary_value(AT_PHNUM) : 0;
    if (has_dynamic(&found))
        *bounds = found;
}

bool module_bounds_find(uintptr_t address, struct module_bounds *ret_bounds)
{
    struct dl_find_object found;

    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    if (!address || _dl_find_object((void *)address, &found) != 0)
        return false;
    *ret_bounds = (struct module_bounds){.map = found.dlfo_link_map,
                                         .start = (uintptr_t)found.dlfo_map_start,
                                         .end = (uintptr_t)found.dlfo_map_end};
    find_headers(ret_bounds);
    if (ret_bounds->map && ret_bounds->map == _r_debug.r_map)
        find_headers_of_executable(ret_bounds);
    return true;
}

bool module_bounds_find_all(const struct link_map *map, struct module_bounds *ret_bounds)
{
    if (!module_bounds_find((uintptr_t)map->l_ld, ret_bounds) || ret_bounds->map != map)
        return false;
    for (size_t i = 0; i < ret_bounds->n_headers; i++) {
        const ElfW(Phdr) *header = &ret_bounds->headers[i];
        uintptr_t start = map->l_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD)
            continue;
        if (start < ret_bounds->start)
            ret_bounds->start = start;
        if (start + header->p_memsz > ret_bounds->end)
            ret_bounds->end = start + header->p_memsz;
    }
    return true;
}

static const struct link_map *g_last_at_start;

void module_bounds_note_start(void)
{
    const struct link_map *map = _r_debug.r_map;

    while (map && map->l_next)
        map = map->l_next;
    if (!g_last_at_start)
        g_last_at_start = map;
}

const struct link_map *module_bounds_last_at_start(void)
{
    return g_last_at_start;
}

/* Initial modules stay at the front of the list, which needs no lock. */
bool module_bounds_is_initial(const struct link_map *map)
{
    const struct link_map *at = g_last_at_start ? _r_debug.r_map : NULL;

    while (at && at != map && at != g_last_at_start)
        at = at->l_next;
    return at && at == map;
}
